// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/theme/numbers.h"

#include <QApplication>
#include <QTest>
#include <limits>

using namespace tokenloupe;

namespace {

// Written with plain spaces here; the program writes ones that do not break.
QString plain(QString text)
{
    return text.replace(QChar(0x202F), QLatin1Char(' ')).replace(QChar(0x00A0), QLatin1Char(' '));
}

} // namespace

class TestNumbers : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void counts_data()
    {
        QTest::addColumn<quint64>("value");
        QTest::addColumn<QString>("text");
        QTest::newRow("zero") << quint64(0) << QStringLiteral("0");
        QTest::newRow("four digits stay together") << quint64(8192) << QStringLiteral("8192");
        QTest::newRow("five") << quint64(49152) << QStringLiteral("49 152");
        QTest::newRow("seven") << quint64(1234567) << QStringLiteral("1 234 567");
        QTest::newRow("largest") << std::numeric_limits<quint64>::max()
                                 << QStringLiteral("18 446 744 073 709 551 615");
    }
    void counts()
    {
        QFETCH(quint64, value);
        QTEST(plain(formatCount(value)), "text");
    }

    void bytes_data()
    {
        QTest::addColumn<quint64>("value");
        QTest::addColumn<QString>("text");
        QTest::newRow("zero") << quint64(0) << QStringLiteral("0 B");
        QTest::newRow("bytes") << quint64(768) << QStringLiteral("768 B");
        QTest::newRow("half a KiB more") << quint64(1536) << QStringLiteral("1.50 KiB");
        QTest::newRow("KiB") << quint64(23040) << QStringLiteral("22.5 KiB");
        QTest::newRow("MiB") << quint64(2) * 1024 * 1024 << QStringLiteral("2.00 MiB");
        QTest::newRow("just below") << quint64(1024) * 1024 - 1 << QStringLiteral("1.00 MiB");
        QTest::newRow("GiB") << quint64(7) * 1024 * 1024 * 1024 << QStringLiteral("7.00 GiB");
        QTest::newRow("largest") << std::numeric_limits<quint64>::max() << QStringLiteral("16.0 EiB");
    }
    void bytes()
    {
        QFETCH(quint64, value);
        QTEST(plain(formatBytes(value)), "text");
    }

    void mebibytes()
    {
        QCOMPARE(formatMebibytes(0), QStringLiteral("0.0"));
        QCOMPARE(formatMebibytes(1), QStringLiteral("<0.1"));
        QCOMPARE(formatMebibytes(96573850), QStringLiteral("92.1"));
        QCOMPARE(plain(formatMebibytes(quint64(20000) << 20)), QStringLiteral("20 000"));
    }

    void milliseconds_data()
    {
        QTest::addColumn<double>("value");
        QTest::addColumn<QString>("text");
        QTest::newRow("usual") << 10.41 << QStringLiteral("10.4 ms");
        QTest::newRow("small") << 0.123 << QStringLiteral("0.123 ms");
        QTest::newRow("micro") << 0.0042 << QStringLiteral("4.2 µs");
        QTest::newRow("zero") << 0.0 << QStringLiteral("0 ms");
        QTest::newRow("large") << 12345.0 << QStringLiteral("12.3 s");
        QTest::newRow("not measured") << std::numeric_limits<double>::quiet_NaN() << QStringLiteral("–");
    }
    void milliseconds()
    {
        QFETCH(double, value);
        QTEST(plain(formatMilliseconds(value)), "text");
    }

    void percents_data()
    {
        QTest::addColumn<double>("share");
        QTest::addColumn<QString>("text");
        QTest::newRow("usual") << 0.376 << QStringLiteral("37.6");
        QTest::newRow("all") << 1.0 << QStringLiteral("100.0");
        QTest::newRow("none") << 0.0 << QStringLiteral("0.0");
        QTest::newRow("small") << 0.0001 << QStringLiteral("0.01");
        QTest::newRow("tiny is not zero") << 1e-9 << QStringLiteral("<0.001");
        QTest::newRow("loss") << -0.012 << QStringLiteral("−1.2");
    }
    void percents()
    {
        QFETCH(double, share);
        QTEST(formatPercent(share), "text");
    }

    void significant_data()
    {
        QTest::addColumn<double>("value");
        QTest::addColumn<int>("digits");
        QTest::addColumn<QString>("text");
        QTest::newRow("four") << 15.2512 << 4 << QStringLiteral("15.25");
        QTest::newRow("rounding adds no digit") << 9.9996 << 4 << QStringLiteral("10.00");
        QTest::newRow("negative") << -12.5 << 3 << QStringLiteral("−12.5");
        QTest::newRow("grouped") << 123456.7 << 4 << QStringLiteral("123 457");
        QTest::newRow("tiny") << 1.234e-9 << 3 << QStringLiteral("1.23×10⁻⁹");
        QTest::newRow("infinite") << std::numeric_limits<double>::infinity() << 4 << QStringLiteral("∞");
        QTest::newRow("banned") << -std::numeric_limits<double>::infinity() << 4 << QStringLiteral("−∞");
        QTest::newRow("nothing") << std::numeric_limits<double>::quiet_NaN() << 4 << QStringLiteral("–");
    }
    void significant()
    {
        QFETCH(double, value);
        QFETCH(int, digits);
        QTEST(plain(formatSignificant(value, digits)), "text");
    }

    void rates()
    {
        QCOMPARE(plain(formatRate(96.38, QStringLiteral("tok/s"))), QStringLiteral("96.4 tok/s"));
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestNumbers)
#include "tst_numbers.moc"
