// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compare/positioncomparison.h"
#include "tests/compare/plaindivergence.h"
#include "tests/support/testmain.h"

#include <limits>
#include <numeric>
#include <set>

using namespace tokenloupe;
using namespace tokenloupe::test;

class TestPositionComparison : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void candidatesOfEither();
    void fewerTokensThanCandidates();
    void columnsHoldTheWholeVocabulary_data();
    void columnsHoldTheWholeVocabulary();
    void passesErrorsOn();
};

void TestPositionComparison::candidatesOfEither()
{
    auto exact = randomRow(2000, 5);
    auto fast = disturbed(exact, 0.5F, 6);
    fast[1234] = *std::max_element(fast.begin(), fast.end()) + 1.0F; // far back in the exact row
    exact[1234] = -1.0F;
    const auto result = comparePosition(exact, fast);
    QVERIFY(result);
    const auto p = plainSoftmax(exact);
    const auto q = plainSoftmax(fast);
    const auto order = [](const std::vector<float> &row) {
        std::vector<std::uint32_t> ids(row.size());
        std::iota(ids.begin(), ids.end(), 0U);
        std::stable_sort(ids.begin(), ids.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return row[a] > row[b]; });
        return ids;
    };
    const auto byExact = order(exact);
    const auto byFast = order(fast);
    const auto rank = [](const std::vector<std::uint32_t> &ids, std::uint32_t id) {
        return static_cast<std::uint32_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
    };
    std::set<std::uint32_t> wanted(byExact.begin(), byExact.begin() + PositionComparison::candidateCount);
    wanted.insert(byFast.begin(), byFast.begin() + PositionComparison::candidateCount);
    QCOMPARE(result->candidates.size(), wanted.size());
    QVERIFY(result->candidates.size() > PositionComparison::candidateCount);
    std::uint32_t before = 0;
    for (const ComparedCandidate &candidate : result->candidates) {
        const std::uint32_t id = candidate.id.value();
        QVERIFY(wanted.erase(id) == 1);
        QCOMPARE(candidate.exactLogit, exact[id]);
        QCOMPARE(candidate.fastLogit, fast[id]);
        QCOMPARE(candidate.exactRank, rank(byExact, id));
        QCOMPARE(candidate.fastRank, rank(byFast, id));
        QVERIFY(std::abs(candidate.exactP - static_cast<double>(p[id])) < 1e-12);
        QVERIFY(std::abs(candidate.fastP - static_cast<double>(q[id])) < 1e-12);
        QVERIFY(candidate.exactRank >= before);
        before = candidate.exactRank;
    }
    QVERIFY(wanted.empty());
    std::uint32_t overlap = 0;
    for (std::uint32_t i = 0; i < PositionComparison::topTokens; ++i)
        overlap += rank(byFast, byExact[i]) < PositionComparison::topTokens ? 1 : 0;
    QCOMPARE(result->overlap, overlap);
    QVERIFY(overlap < PositionComparison::topTokens);
    QCOMPARE(result->divergence.kl, divergenceOf(exact, fast)->kl);
    QVERIFY(!result->divergence.argmaxEqual());
}

void TestPositionComparison::fewerTokensThanCandidates()
{
    const std::vector<float> row{3.0F, 1.0F, 2.0F};
    const auto result = comparePosition(row, row);
    QVERIFY(result);
    QCOMPARE(result->candidates.size(), std::size_t(3));
    QCOMPARE(result->overlap, 3U);
    QCOMPARE(result->candidates[1].id, TokenId(2));
}

void TestPositionComparison::columnsHoldTheWholeVocabulary_data()
{
    QTest::addColumn<float>("spread");
    QTest::newRow("as a model gives them") << 1.0F;
    QTest::newRow("all equal") << 0.0F;
    QTest::newRow("very far apart") << 1e30F;
}

void TestPositionComparison::columnsHoldTheWholeVocabulary()
{
    QFETCH(float, spread);
    auto exact = randomRow(5000, 7);
    for (float &logit : exact)
        logit *= spread;
    auto fast = disturbed(exact, 0.01F, 8);
    exact[10] = -std::numeric_limits<float>::infinity();
    fast[11] = -std::numeric_limits<float>::infinity();
    const auto result = comparePosition(exact, fast);
    QVERIFY(result);
    QCOMPARE(result->columns.size(), std::size_t(PositionComparison::columnCount));
    std::vector<DifferenceColumn> plain(PositionComparison::columnCount);
    const double low = result->lowestLogit;
    const double width = (double(result->highestLogit) - low) / PositionComparison::columnCount;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        if (i == 10 || i == 11)
            continue; // no number to put anywhere
        QVERIFY(exact[i] >= result->lowestLogit && exact[i] <= result->highestLogit);
        const auto place = width > 0.0 ? std::size_t((double(exact[i]) - low) / width) : 0;
        DifferenceColumn &column = plain[std::min<std::size_t>(place, PositionComparison::columnCount - 1)];
        const float difference = fast[i] - exact[i];
        if (column.tokens++ == 0)
            column.lowest = column.highest = difference;
        column.lowest = std::min(column.lowest, difference);
        column.highest = std::max(column.highest, difference);
    }
    std::uint32_t tokens = 0;
    for (std::size_t i = 0; i < plain.size(); ++i) {
        QCOMPARE(result->columns[i].tokens, plain[i].tokens);
        tokens += plain[i].tokens;
        if (plain[i].tokens == 0)
            continue;
        QCOMPARE(result->columns[i].lowest, plain[i].lowest);
        QCOMPARE(result->columns[i].highest, plain[i].highest);
    }
    QCOMPARE(tokens, 4998U);
}

void TestPositionComparison::passesErrorsOn()
{
    const std::vector<float> good{1.0F, 2.0F}, longer{1.0F, 2.0F, 3.0F};
    QCOMPARE(comparePosition(good, longer).error().code, ErrorCode::InvalidArgument);
}

TOKENLOUPE_TEST_MAIN(TestPositionComparison)
#include "tst_positioncomparison.moc"
