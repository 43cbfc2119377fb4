// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/estimates.h"
#include "tests/support/testmain.h"
#include "widgets/models/gpulistmodel.h"

#include <QAbstractItemModelTester>
#include <QRegularExpression>
#include <QTest>

using namespace tokenloupe;

class TestGpuListModel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void cardsAndTheirShares()
    {
        GpuListModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setGpus({test::card("Small", 8), test::card("Large", 24)});
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(model.columnCount(), 3);
        QCOMPARE(model.index(0, GpuListModel::NameColumn).data().toString(), QStringLiteral("Small"));
        QVERIFY(
            model.index(1, GpuListModel::MemoryColumn).data().toString().startsWith(QStringLiteral("24")));
        QVERIFY(model.index(0, 0).data(Qt::ToolTipRole).toString().contains(QStringLiteral("TFLOP/s")));
        model.setShares({{test::card("Small", 8), 12, std::uint64_t(9) << 30, false},
                         {test::card("Large", 24), 20, std::uint64_t(15) << 30, true}});
        QCOMPARE(model.columnCount(), 6);
        QCOMPARE(model.index(0, GpuListModel::LayersColumn).data().toString(), QStringLiteral("12"));
        QCOMPARE(model.index(0, GpuListModel::FitsColumn).data(GpuListModel::FitsRole).toBool(), false);
        QCOMPARE(model.index(1, GpuListModel::FitsColumn).data(GpuListModel::FitsRole).toBool(), true);
        QVERIFY(model.index(0, GpuListModel::FitsColumn).data().toString() !=
                model.index(1, GpuListModel::FitsColumn).data().toString());
        model.setGpus({});
        QCOMPARE(model.rowCount(), 0);
    }

    void ratesAreWrittenAsMakersDo()
    {
        QCOMPARE(formatBandwidth(1.008e12).remove(QChar(0x202F)), QStringLiteral("1008\u00A0GB/s"));
        QCOMPARE(formatFlops(1.65e14), QStringLiteral("165\u00A0TFLOP/s"));
        QCOMPARE(formatFlops(5e11), QStringLiteral("500\u00A0GFLOP/s"));
    }
};

TOKENLOUPE_TEST_MAIN(TestGpuListModel)
#include "tst_gpulistmodel.moc"
