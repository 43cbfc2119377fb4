// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/candidateset.h"
#include "engine/sampling/masssearch.h"
#include "tests/sampling/samplingreference.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

enum class Row { Gaussian, Peaked, Flat, Ties, Equal, MostlyBanned, TwoValues };

std::vector<float> rowOf(Row kind, std::size_t n)
{
    std::vector<float> row(n, 1.5F);
    switch (kind) {
    case Row::Gaussian:
        return randomLogits(n, n, LogitShape::Gaussian);
    case Row::Peaked:
        return randomLogits(n, n, LogitShape::Peaked);
    case Row::Ties:
        return randomLogits(n, n, LogitShape::Ties);
    case Row::Flat:
        row = randomLogits(n, n, LogitShape::Gaussian);
        std::transform(row.begin(), row.end(), row.begin(), [](float x) { return x * 0.1F; });
        break;
    case Row::Equal:
        break;
    case Row::MostlyBanned:
        for (std::size_t i = 0; i < n; ++i)
            row[i] = i % 50 == 7 ? row[i] + static_cast<float>(i % 13) * 0.25F : -infinity;
        row[0] = 0.0F;
        break;
    case Row::TwoValues:
        for (std::size_t i = 0; i < n; i += 3)
            row[i] = 1.25F;
        break;
    }
    return row;
}

} // namespace

/// Against a walk through the whole row, sorted.
class TestMassSearch : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void findsWhatTheFullSortFinds_data()
    {
        QTest::addColumn<int>("kind");
        QTest::addColumn<std::size_t>("n");
        const char *names[] = {"gaussian", "peaked", "flat", "ties", "equal", "mostly banned", "two values"};
        for (int kind = 0; kind < 7; ++kind) {
            for (const std::size_t n :
                 {std::size_t(1), std::size_t(511), std::size_t(5000), std::size_t(300007)})
                QTest::addRow("%s %zu", names[kind], n) << kind << n;
        }
    }
    void findsWhatTheFullSortFinds()
    {
        QFETCH(int, kind);
        QFETCH(std::size_t, n);
        const std::vector<float> row = rowOf(static_cast<Row>(kind), n);
        std::vector<Candidate> sorted;
        for (std::size_t i = 0; i < n; ++i)
            sorted.push_back({TokenId(std::uint32_t(i)), row[i]});
        std::sort(sorted.begin(), sorted.end(), InDescendingOrder());
        const SoftmaxWeights weights = softmaxWeights(row, sorted.front().logit);
        std::vector<double> running(n);
        double sum = 0.0;
        for (std::size_t i = 0; i < n; ++i)
            running[i] = sum += std::exp(double(sorted[i].logit) - double(sorted[0].logit));
        QVERIFY(qAbs(weights.sumExp / sum - 1.0) < 1e-6);

        for (const double share : {0.0, 1e-9, 0.013, 0.2, 0.5, 0.77, 0.95, 0.9999, 0.9999999}) {
            for (const Reach reach : {Reach::AtLeast, Reach::MoreThan}) {
                const MassGoal goal{share * weights.sumExp, reach};
                const auto found = findMass({row}, weights, goal);
                const auto expected =
                    std::find_if(running.begin(), running.end(), [&](double at) { return goal.isMet(at); });
                if (!found) {
                    QVERIFY(expected == running.end() || share > 0.999);
                    continue;
                }
                QVERIFY(found->count >= 1 && found->count <= n);
                // The entry that it names is the one at its place in the order.
                QCOMPARE(found->index, sorted[found->count - 1].id.value());
                QCOMPARE(found->logit, sorted[found->count - 1].logit);
                const double tolerance = 2e-7 * sum; // of float exponentials
                QVERIFY(qAbs(found->sum - running[found->count - 1]) <= tolerance);
                const std::size_t wanted = std::size_t(expected - running.begin()) + 1;
                if (found->count != wanted) // only where rounding may tip it
                    QVERIFY(expected == running.end() ||
                            qAbs(running[std::min(found->count, wanted) - 1] - goal.sum) <= tolerance);
            }
        }
    }

    void prefixesOfASetAreThoseOfItsList()
    {
        // A row with edits and bans, cut twice: what is kept is what sorting keeps.
        for (const Row kind : {Row::Gaussian, Row::Flat, Row::Ties, Row::Peaked}) {
            const std::vector<float> row = rowOf(kind, 20000);
            CandidateSet set = *CandidateSet::of(row);
            const std::vector<TokenId> ids = {TokenId(3), TokenId(700), TokenId(19999)};
            set.edit(ids,
                     [](TokenId id, float logit) { return id == TokenId(700) ? -infinity : logit + 2.0F; });
            for (const double share : {0.9, 0.8}) {
                const SoftmaxWeights weights = set.weights();
                const std::vector<Candidate> sorted = set.top(set.size());
                QCOMPARE(sorted.size(), set.size());
                const auto end = set.prefixOf(weights, {share * weights.sumExp, Reach::AtLeast});
                QVERIFY(end);
                set.keepPrefix(*end);
                QCOMPARE(set.size(), end->count);
                const std::vector<Candidate> kept = set.top(set.size());
                for (std::size_t i = 0; i < kept.size(); ++i) {
                    QCOMPARE(kept[i].id.value(), sorted[i].id.value());
                    QCOMPARE(kept[i].logit, sorted[i].logit);
                    QVERIFY(set.logitOf(kept[i].id) == kept[i].logit);
                }
                QVERIFY(!set.logitOf(TokenId(700)));
                QVERIFY(kept.size() == sorted.size() || !set.logitOf(sorted[kept.size()].id));
                const SoftmaxWeights after = set.weights();
                double sum = 0.0;
                for (const Candidate &candidate : kept)
                    sum += after.weightOf(candidate.logit);
                QVERIFY(qAbs(after.sumExp / sum - 1.0) < 1e-6);
            }
        }
    }
};

TOKENLOUPE_TEST_MAIN(TestMassSearch)
#include "tst_masssearch.moc"
