// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "widgets/models/devicetext.h"

#include <QSet>

using namespace tokenloupe;

class TestDeviceText : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void devices()
    {
        QCOMPARE(deviceTitle({"0000:01:00.0", "NVIDIA H200", std::uint64_t(139) << 30, {}}),
                 QStringLiteral("NVIDIA H200 · 139 GiB")
                     .replace(QStringLiteral("9 G"), QStringLiteral("9\u00A0G")));
        QCOMPARE(deviceTitle({"0000:01:00.0", {}, 0, {}}), QStringLiteral("0000:01:00.0"));
        QVERIFY(unusableTitle({"id", "Old Card", 0, "too old"}).startsWith(QStringLiteral("Old Card")));
        QCOMPARE(noDeviceTitle(QStringLiteral("no NVIDIA driver")), QStringLiteral("CUDA: no NVIDIA driver"));
    }

    void whatComputedARun()
    {
        RunArithmetic arithmetic;
        QCOMPARE(computedByText(arithmetic, 32), QStringLiteral("CPU"));
        arithmetic.device = "NVIDIA H200";
        QCOMPARE(computedByText(arithmetic, 32), QStringLiteral("NVIDIA H200"));
        arithmetic.deviceLayers = 22;
        QCOMPARE(computedByText(arithmetic, 32), QStringLiteral("22 of 32 layers on NVIDIA H200"));
        QCOMPARE(layersText(1), QStringLiteral("1\u00A0layer"));
        QCOMPARE(layersText(22), QStringLiteral("22\u00A0layers"));
    }

    void everyOperationHasANameOfItsOwn()
    {
        QSet<QString> names;
        QSet<QString> summaries;
        for (std::size_t i = 0; i < operationCount; ++i) {
            names << operationTitle(static_cast<Operation>(i));
            summaries << operationSummary(static_cast<Operation>(i));
        }
        QCOMPARE(std::size_t(names.size()), operationCount);
        QCOMPARE(std::size_t(summaries.size()), operationCount);
        QVERIFY(!names.contains(QString()));
    }

    void bandwidth()
    {
        RunRecord run;
        StepRecord step;
        QCOMPARE(bandwidthShare(run, step), 0.0);
        QCOMPARE(bandwidthDetails(run, step), QString());
        step.readBytes = 1'000'000'000; // in 2 ms: 500 GB/s
        step.forwardMs = 2.0;
        QCOMPARE(bandwidthShare(run, step), 0.0); // of what is not known
        QVERIFY2(bandwidthDetails(run, step).contains(QStringLiteral("500")),
                 qPrintable(bandwidthDetails(run, step)));
        QVERIFY(!bandwidthDetails(run, step).contains(QLatin1Char('%')));
        run.deviceBytesPerSecond = 4.0e12;
        QCOMPARE(bandwidthShare(run, step), 0.125);
        const QString text = bandwidthDetails(run, step);
        QVERIFY2(text.contains(QStringLiteral("12.5 % of 4")), qPrintable(text));
        QVERIFY2(text.endsWith(QStringLiteral("TB/s")), qPrintable(text));
    }

    void units_data()
    {
        QTest::addColumn<double>("perSecond");
        QTest::addColumn<QString>("unit");
        QTest::newRow("slow") << 12.0 << QStringLiteral("B/s");
        QTest::newRow("disk") << 150e6 << QStringLiteral("MB/s");
        QTest::newRow("memory") << 48e9 << QStringLiteral("GB/s");
        QTest::newRow("device") << 4.8e12 << QStringLiteral("TB/s");
        QTest::newRow("beyond") << 4.8e15 << QStringLiteral("TB/s");
    }
    void units()
    {
        QFETCH(double, perSecond);
        QFETCH(QString, unit);
        const QString text = bandwidthText(perSecond);
        QVERIFY2(text.endsWith(unit), qPrintable(text));
        QVERIFY(!text.startsWith(QLatin1Char('0')));
    }
};

TOKENLOUPE_TEST_MAIN(TestDeviceText)
#include "tst_devicetext.moc"
