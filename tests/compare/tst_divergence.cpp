// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/compare/plaindivergence.h"
#include "tests/support/testmain.h"

#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

class TestDivergence : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void agreesWithTheBook_data();
    void agreesWithTheBook();
    void workedNumbers();
    void ofARowFromItself();
    void bannedTokens();
    void whatCannotBeCompared();
    void totals();
};

void TestDivergence::agreesWithTheBook_data()
{
    QTest::addColumn<int>("count");
    QTest::addColumn<float>("noise");
    for (const int count : {2, 17, 384, 49152}) {
        for (const float noise : {1e-4F, 0.01F, 1.0F, 20.0F})
            QTest::addRow("%d tokens, %g", count, double(noise)) << count << noise;
    }
}

void TestDivergence::agreesWithTheBook()
{
    QFETCH(int, count);
    QFETCH(float, noise);
    const auto a = randomRow(std::size_t(count), 1);
    const auto b = disturbed(a, noise, 2);
    const auto result = divergenceOf(a, b);
    QVERIFY(result);
    const double forward = plainKl(a, b);
    const double back = plainKl(b, a);
    QVERIFY(forward > 0.0 || count == 2);
    // The sums are exact to some units of the sixteenth digit of the logits.
    const auto near = [](double own, double book) { return std::abs(own - book) <= 1e-13 + 1e-9 * book; };
    QVERIFY2(near(result->kl, forward), qPrintable(QString::number(result->kl - forward)));
    QVERIFY2(near(result->klBack, back), qPrintable(QString::number(result->klBack - back)));
    float largest = 0.0F;
    std::size_t at = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (std::abs(a[i] - b[i]) > largest) {
            largest = std::abs(a[i] - b[i]);
            at = i;
        }
    }
    QCOMPARE(result->largestDifference, largest);
    QCOMPARE(result->largestAt, TokenId(static_cast<std::uint32_t>(at)));
    const auto best = [](const std::vector<float> &row) {
        return TokenId(static_cast<std::uint32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
    };
    QCOMPARE(result->referenceArgmax, best(a));
    QCOMPARE(result->otherArgmax, best(b));
}

void TestDivergence::workedNumbers()
{
    // p = (3/4, 1/4), q = (1/2, 1/2): KL(p‖q) = 3/4 ln 3/2 + 1/4 ln 1/2, KL(q‖p) = 1/2 ln 2/3 + 1/2 ln 2.
    const std::vector<float> p{std::log(3.0F), 0.0F};
    const std::vector<float> q{7.0F, 7.0F};
    const auto result = divergenceOf(p, q);
    QVERIFY(result);
    QVERIFY(std::abs(result->kl - (0.75 * std::log(1.5) + 0.25 * std::log(0.5))) < 1e-7);
    QVERIFY(std::abs(result->klBack - (0.5 * std::log(2.0 / 3.0) + 0.5 * std::log(2.0))) < 1e-7);
    QVERIFY(std::abs(result->otherLogSumExp - (7.0 + std::log(2.0))) < 1e-12);
    QVERIFY(result->argmaxEqual()); // the lower id among equals
    QCOMPARE(result->largestAt, TokenId(1));
}

void TestDivergence::ofARowFromItself()
{
    const auto row = randomRow(1000, 3);
    const auto result = divergenceOf(row, row);
    QVERIFY(result);
    QCOMPARE(result->kl, 0.0);
    QCOMPARE(result->klBack, 0.0);
    QCOMPARE(result->largestDifference, 0.0F);
    QVERIFY(!result->largestAt.isValid());
    QVERIFY(result->argmaxEqual());
}

void TestDivergence::bannedTokens()
{
    constexpr float banned = -std::numeric_limits<float>::infinity();
    // In both: as if it were not there. NaN counts as banned.
    const std::vector<float> a{1.0F, banned, 2.0F, std::numeric_limits<float>::quiet_NaN()};
    const std::vector<float> b{2.0F, banned, 1.0F, banned};
    const auto both = divergenceOf(a, b);
    QVERIFY(both);
    const std::vector<float> shortA{1.0F, 2.0F}, shortB{2.0F, 1.0F};
    QVERIFY(std::abs(both->kl - plainKl(shortA, shortB)) < 1e-12);
    QCOMPARE(both->largestDifference, 1.0F);
    // In one only: the other direction stays finite.
    const std::vector<float> open{1.0F, 1.0F}, closed{1.0F, banned};
    const auto one = divergenceOf(open, closed);
    QVERIFY(one);
    QVERIFY(std::isinf(one->kl));
    QVERIFY(std::abs(one->klBack - std::log(2.0)) < 1e-12);
    QVERIFY(std::isinf(one->largestDifference));
}

void TestDivergence::whatCannotBeCompared()
{
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> good{1.0F, 2.0F}, longer{1.0F, 2.0F, 3.0F}, endless{1.0F, infinity},
        empty{-infinity, -infinity};
    QCOMPARE(divergenceOf(good, longer).error().code, ErrorCode::InvalidArgument);
    QCOMPARE(divergenceOf(good, endless).error().code, ErrorCode::InvalidLogits);
    QCOMPARE(divergenceOf(empty, good).error().code, ErrorCode::InvalidLogits);
    QCOMPARE(divergenceOf({}, {}).error().code, ErrorCode::InvalidLogits);
}

void TestDivergence::totals()
{
    DivergenceTotals totals;
    QCOMPARE(totals.meanKl(), 0.0);
    QCOMPARE(totals.argmaxEqualShare(), 0.0);
    Divergence some;
    some.referenceArgmax = some.otherArgmax = TokenId(4);
    some.kl = 0.25;
    some.largestDifference = 2.0F;
    totals.add(some);
    some.kl = 1.0;
    some.largestDifference = 1.0F;
    some.otherArgmax = TokenId(5);
    totals.add(some);
    some.kl = 0.25;
    totals.add(some);
    some.otherArgmax = TokenId(4);
    some.kl = 0.5;
    totals.add(some);
    QCOMPARE(totals.positions(), std::size_t(4));
    QCOMPARE(totals.meanKl(), 0.5);
    QCOMPARE(totals.largestKl(), 1.0);
    QCOMPARE(totals.largestAt(), std::size_t(1));
    QCOMPARE(totals.argmaxEqualShare(), 0.5);
    QCOMPARE(totals.largestDifference(), 2.0F);
}

TOKENLOUPE_TEST_MAIN(TestDivergence)
#include "tst_divergence.moc"
