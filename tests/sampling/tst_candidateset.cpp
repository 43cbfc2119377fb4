// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/candidateset.h"
#include "engine/sampling/logitscan.h"
#include "tests/sampling/samplingreference.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<Candidate> byId(const CandidateSet &set)
{
    Candidates copy;
    set.copyTo(copy);
    std::sort(copy.items.begin(), copy.items.end(),
              [](const Candidate &a, const Candidate &b) { return a.id < b.id; });
    return copy.items;
}

/// The same candidates in each of the forms that a set can have.
std::vector<CandidateSet> everyForm(std::span<const float> logits)
{
    std::vector<CandidateSet> sets;
    sets.push_back(*CandidateSet::of(logits)); // the row itself
    sets.push_back(*CandidateSet::of(logits));
    sets.back().keepAtLeast(-infinity); // a list by id
    sets.push_back(*CandidateSet::of(logits));
    sets.back().keep(sets.back().top(logits.size())); // a sorted list
    sets.push_back(*CandidateSet::of(logits));
    sets.back().keep(sets.back().top(logits.size()));
    const TokenId first[] = {TokenId(0)};
    sets.back().edit(first, [](TokenId, float logit) { return logit; }); // a list in no order
    return sets;
}

bool isSame(const Candidate &a, const Candidate &b)
{
    return a.id == b.id && a.logit == b.logit;
}

/// What the set says about itself, against a list by rising id that is sorted and summed in double.
void checkSet(const CandidateSet &set, const std::vector<Candidate> &expected)
{
    const std::vector<Candidate> items = byId(set);
    QCOMPARE(items.size(), expected.size());
    QCOMPARE(set.size(), expected.size());
    QVERIFY(std::equal(items.begin(), items.end(), expected.begin(), isSame));
    std::vector<Candidate> sorted = expected;
    std::sort(sorted.begin(), sorted.end(), InDescendingOrder());
    for (const std::size_t count : {std::size_t(1), std::size_t(100), sorted.size()}) {
        const std::vector<Candidate> top = set.top(count);
        QCOMPARE(top.size(), std::min(count, sorted.size()));
        QVERIFY(std::equal(top.begin(), top.end(), sorted.begin(), isSame));
    }
    QVERIFY(isSame(set.best(), sorted.front()));
    for (std::size_t id = 0; id < set.vocabulary(); id += 1 + set.vocabulary() / 100) {
        const auto at = std::find_if(expected.begin(), expected.end(),
                                     [id](const Candidate &item) { return item.id.value() == id; });
        QVERIFY(set.logitOf(TokenId(std::uint32_t(id))) ==
                (at == expected.end() ? std::nullopt : std::optional<float>(at->logit)));
    }

    std::vector<double> running;
    double sum = 0.0;
    for (const Candidate &item : sorted)
        running.push_back(sum += std::exp(double(item.logit) - double(sorted.front().logit)));
    const SoftmaxWeights weights = set.weights();
    QCOMPARE(weights.maximum, sorted.front().logit);
    QVERIFY(qAbs(weights.sumExp / sum - 1.0) < 2e-7);
    QVERIFY(qAbs(set.sums().sumExp / sum - 1.0) < 2e-7);
    for (const double share : {0.0, 0.1, 0.6, 0.99}) {
        const double goal = share * weights.sumExp;
        const auto end = set.prefixOf(weights, {goal, Reach::MoreThan});
        QVERIFY(end && end->count >= 1 && end->count <= sorted.size());
        QVERIFY(isSame(end->last, sorted[end->count - 1]));
        // The one with which the sum passes the goal, but for what rounding may tip.
        const double tolerance = 2e-7 * sum; // of float exponentials
        QVERIFY(running[end->count - 1] > goal - tolerance);
        QVERIFY(end->count == 1 || running[end->count - 2] <= goal + tolerance);
        QVERIFY(qAbs(end->sum - running[end->count - 1]) <= tolerance);
    }
}

/// Keeps the first with this share of the probability, in the set and in the list.
void cut(CandidateSet &set, std::vector<Candidate> &expected, double share)
{
    const SoftmaxWeights weights = set.weights();
    const auto end = set.prefixOf(weights, {share * weights.sumExp, Reach::AtLeast});
    QVERIFY(end);
    set.keepPrefix(*end);
    std::sort(expected.begin(), expected.end(), InDescendingOrder());
    expected.resize(end->count);
    std::sort(expected.begin(), expected.end(),
              [](const Candidate &a, const Candidate &b) { return a.id < b.id; });
}

} // namespace

class TestCandidateSet : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void refusesLogitsWithoutAChoice()
    {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        const std::vector<std::vector<float>> bad = {
            {}, {nan, nan, nan}, {-infinity}, {-infinity, nan}, {1.0F, infinity}, {nan, infinity, -infinity}};
        for (const auto &logits : bad) {
            const Result<CandidateSet> set = CandidateSet::of(logits);
            QVERIFY(!set);
            QVERIFY(set.error().code == ErrorCode::InvalidLogits);
            QVERIFY(!set.error().message.empty());
        }
        const std::vector<float> one = {nan, -infinity, 2.0F};
        const Result<CandidateSet> set = CandidateSet::of(one);
        QVERIFY(set.has_value());
        QCOMPARE(set->size(), std::size_t(3));
        QCOMPARE(set->best().id.value(), 2U);
        QVERIFY(byId(*set)[0].logit == -infinity);
    }

    void formsAgree()
    {
        for (const LogitShape shape : {LogitShape::Gaussian, LogitShape::Ties, LogitShape::Huge}) {
            const std::vector<float> logits = randomLogits(5, 500, shape);
            for (CandidateSet &set : everyForm(logits)) {
                const CandidateSet first = *CandidateSet::of(logits);
                QCOMPARE(set.size(), logits.size());
                QCOMPARE(set.maximum(), first.maximum());
                QCOMPARE(set.best().id.value(), first.best().id.value());
                QVERIFY(qAbs(set.sums().sumExp / first.sums().sumExp - 1.0) < 1e-12);
                const auto top = set.top(33), expected = first.top(33);
                for (std::size_t i = 0; i < top.size(); ++i)
                    QCOMPARE(top[i].id.value(), expected[i].id.value());

                DescendingWalk walk(set);
                std::vector<Candidate> walked;
                while (const Candidate *candidate = walk.next())
                    walked.push_back(*candidate);
                QCOMPARE(walked.size(), logits.size());
                QVERIFY(std::is_sorted(walked.begin(), walked.end(), comesBefore));
                QCOMPARE(walk.prefix(70).size(), std::size_t(70));
                QCOMPARE(walk.prefix(70).back().id.value(), walked[69].id.value());
            }
        }
    }

    void editsReachTheirTokensInEveryForm()
    {
        const std::vector<float> logits = randomLogits(9, 300, LogitShape::Gaussian);
        const std::vector<TokenId> ids = {TokenId(0), TokenId(7), TokenId(8), TokenId(150), TokenId(299)};
        for (CandidateSet &set : everyForm(logits)) {
            set.edit(ids,
                     [](TokenId id, float logit) { return id == TokenId(8) ? -infinity : logit + 1.0F; });
            const std::vector<Candidate> result = byId(set);
            QCOMPARE(result.size(), logits.size() - 1);
            for (const Candidate &candidate : result) {
                QVERIFY(candidate.id != TokenId(8));
                const bool edited = std::binary_search(ids.begin(), ids.end(), candidate.id);
                QCOMPARE(candidate.logit, logits[candidate.id.value()] + (edited ? 1.0F : 0.0F));
            }
            // What is gone stays gone.
            set.edit(ids, [](TokenId, float) { return 50.0F; });
            QCOMPARE(set.size(), logits.size() - 1);
            QCOMPARE(set.best().id.value(), 0U);
        }
    }

    void bansAndTheModelsOwnMinusInfinity()
    {
        // 1 and 5 are -inf from the model and stay; 0 and 3 are banned and leave.
        const std::vector<float> logits = {7, -infinity, 2, 3, 4, -infinity};
        for (CandidateSet &set : everyForm(logits)) {
            for (const std::uint32_t banned : {3U, 0U}) {
                const TokenId ids[] = {TokenId(banned)};
                set.edit(ids, [](TokenId, float) { return -infinity; });
            }
            QCOMPARE(set.size(), std::size_t(4));
            QCOMPARE(set.best().id.value(), 4U);
            const std::uint32_t order[] = {4, 2, 1, 5};
            for (std::size_t count = 1; count <= 5; ++count) {
                const std::vector<Candidate> top = set.top(count);
                QCOMPARE(top.size(), std::min<std::size_t>(count, 4));
                for (std::size_t i = 0; i < top.size(); ++i)
                    QCOMPARE(top[i].id.value(), order[i]);
            }
            QCOMPARE(byId(set).size(), std::size_t(4));
            set.divideBy(2.0F);
            QCOMPARE(set.size(), std::size_t(4));
            set.keepAtLeast(-infinity);
            QCOMPARE(set.size(), std::size_t(4));
            set.keepAtLeast(-1e30);
            QCOMPARE(set.size(), std::size_t(2));
            QVERIFY(set.check());
        }
    }

    void theRowIsNeverWrittenTo()
    {
        const std::vector<float> logits = randomLogits(3, 200, LogitShape::Gaussian);
        const std::vector<float> before = logits;
        CandidateSet set = *CandidateSet::of(logits);
        const TokenId ids[] = {TokenId(4)};
        set.edit(ids, [](TokenId, float) { return 9.0F; });
        set.divideBy(0.5F);
        set.subtract(3.0);
        set.keepAtLeast(0.0);
        QVERIFY(logits == before);
    }

    void movedSetsKeepTheirLogits()
    {
        const std::vector<float> logits = {1.0F, 2.0F, 3.0F};
        CandidateSet set = *CandidateSet::of(logits);
        set.divideBy(0.5F);
        const CandidateSet moved = std::move(set);
        QCOMPARE(moved.best().logit, 6.0F);
    }

    void tiesMadeByDividingAreOrderedById()
    {
        // 3 and its successor fall together when divided; token 0 must then come first.
        const std::vector<float> logits = {3.0F, std::nextafter(3.0F, 4.0F), 1.0F};
        float divisor = 1.0F;
        while (logits[0] / divisor != logits[1] / divisor)
            divisor = std::nextafter(divisor, 2.0F);
        CandidateSet set = *CandidateSet::of(logits);
        set.keep(set.top(3));
        QCOMPARE(set.top(1).front().id.value(), 1U);
        set.divideBy(divisor);
        QCOMPARE(set.top(1).front().id.value(), 0U);
    }

    void longRowsCutInTheMiddle_data()
    {
        QTest::addColumn<std::size_t>("n");
        QTest::addColumn<float>("grid"); // logits are multiples of it: many equal ones; 0: none
        QTest::addColumn<double>("share");
        for (const float grid : {0.0F, 1.0F / 64, 0.5F}) {
            for (const double share : {0.3, 0.95, 0.9999})
                QTest::addRow("2049, multiples of %g, %g", double(grid), share)
                    << std::size_t(2049) << grid << share;
            QTest::addRow("49152, multiples of %g", double(grid)) << std::size_t(49152) << grid << 0.99;
            QTest::addRow("262144, multiples of %g", double(grid)) << std::size_t(262144) << grid << 0.95;
        }
    }
    /// Rows so flat that a top-p keeps most of them, against plain lists.
    void longRowsCutInTheMiddle()
    {
        QFETCH(std::size_t, n);
        QFETCH(float, grid);
        QFETCH(double, share);
        std::vector<float> row = randomLogits(n, n, LogitShape::Gaussian);
        for (float &logit : row)
            logit = grid > 0.0F ? std::round(logit / 3.0F / grid) * grid : logit / 3.0F;
        row[5] = -infinity;
        CandidateSet set = *CandidateSet::of(row);
        std::vector<Candidate> expected;
        for (std::size_t i = 0; i < n; ++i)
            expected.push_back({TokenId(std::uint32_t(i)), row[i]});
        checkSet(set, expected);

        cut(set, expected, share);
        checkSet(set, expected);
        cut(set, expected, 0.999);
        checkSet(set, expected);
        set.divideBy(0.7F);
        for (Candidate &item : expected)
            item.logit /= 0.7F;
        checkSet(set, expected);
        cut(set, expected, 0.97);
        checkSet(set, expected);

        const std::vector<TokenId> ids = {TokenId(2), TokenId(5), TokenId(7), TokenId(100), TokenId(2000)};
        const auto change = [](TokenId id, float logit) {
            return id == TokenId(7) ? -infinity : logit + 1.0F;
        };
        set.edit(ids, change);
        for (Candidate &item : expected) {
            if (std::binary_search(ids.begin(), ids.end(), item.id))
                item.logit = change(item.id, item.logit);
        }
        std::erase_if(expected, [](const Candidate &item) { return item.logit == -infinity; });
        checkSet(set, expected);
        cut(set, expected, 0.98);
        set.subtract(0.3);
        for (Candidate &item : expected)
            item.logit = static_cast<float>(static_cast<double>(item.logit) - 0.3);
        checkSet(set, expected);
        cut(set, expected, 0.98);
        set.keepAtLeast(-0.5);
        std::erase_if(expected, [](const Candidate &item) { return item.logit < -0.5F; });
        checkSet(set, expected);
    }
};

TOKENLOUPE_TEST_MAIN(TestCandidateSet)
#include "tst_candidateset.moc"
