// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/philox.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <set>

using namespace tokenloupe;

using Words = std::array<std::uint32_t, 4>;
using Key = std::array<std::uint32_t, 2>;
Q_DECLARE_METATYPE(Words)
Q_DECLARE_METATYPE(Key)

class TestPhilox : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void knownAnswers_data()
    {
        QTest::addColumn<Words>("counter");
        QTest::addColumn<Key>("key");
        QTest::addColumn<Words>("expected");
        constexpr std::uint32_t ones = 0xFFFFFFFF;
        QTest::newRow("zero") << Words{} << Key{} << Words{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8};
        QTest::newRow("ones") << Words{ones, ones, ones, ones} << Key{ones, ones}
                              << Words{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD};
        QTest::newRow("digits of pi")
            << Words{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344} << Key{0xA4093822, 0x299F31D0}
            << Words{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1};
    }

    void knownAnswers()
    {
        QFETCH(Words, counter);
        QFETCH(Key, key);
        QFETCH(Words, expected);
        QCOMPARE(philox4x32(counter, key), expected);
    }

    void drawIsTheTop53Bits()
    {
        // Seed, step and stage 0 are the all-zero counter and key above.
        constexpr std::uint64_t bits = 0x6627E8D5E169C58D;
        QCOMPARE(uniformDraw(0, 0, 0), static_cast<double>(bits >> 11) / 9007199254740992.0);
    }

    void everyPartOfTheNameMatters()
    {
        const double draw = uniformDraw(7, 11, 13);
        QCOMPARE(uniformDraw(7, 11, 13), draw);
        QVERIFY(uniformDraw(8, 11, 13) != draw);
        QVERIFY(uniformDraw(7, 12, 13) != draw);
        QVERIFY(uniformDraw(7, 11, 14) != draw);
        // The upper halves of seed and step are not cut off.
        QVERIFY(uniformDraw(7 + (1ULL << 32), 11, 13) != draw);
        QVERIFY(uniformDraw(7, 11 + (1ULL << 32), 13) != draw);
    }

    void drawsAreUniform()
    {
        constexpr int draws = 20000;
        constexpr int bins = 20;
        std::array<int, bins> counts{};
        double sum = 0;
        for (int step = 0; step < draws; ++step) {
            const double u = uniformDraw(42, static_cast<std::uint64_t>(step), 3);
            QVERIFY(u >= 0.0 && u < 1.0);
            sum += u;
            ++counts[static_cast<std::size_t>(u * bins)];
        }
        // Five standard deviations of the mean, and the chi-squared bound for 19 degrees at p = 1e-6.
        QVERIFY(std::abs(sum / draws - 0.5) < 5 * 0.288675 / std::sqrt(draws));
        double chiSquared = 0;
        for (const int count : counts) {
            const double expected = double(draws) / bins;
            chiSquared += (count - expected) * (count - expected) / expected;
        }
        QVERIFY2(chiSquared < 63.5, qPrintable(QString::number(chiSquared)));
    }

    void seedsCanBeTyped()
    {
        std::set<std::uint64_t> seeds;
        for (int i = 0; i < 16; ++i) {
            seeds.insert(randomSeed());
            QVERIFY(*seeds.rbegin() < (1ULL << 32));
        }
        QVERIFY(seeds.size() > 8);
    }
};

TOKENLOUPE_TEST_MAIN(TestPhilox)
#include "tst_philox.moc"
