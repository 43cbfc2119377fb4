// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/candidateset.h"
#include "engine/sampling/samplerchain.h"
#include "tests/sampling/samplingreference.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

SamplerChain chainOf(std::vector<StageSettings> stages, std::uint64_t seed = 0)
{
    SamplerSettings settings;
    settings.stages = std::move(stages);
    settings.seed = seed;
    return SamplerChain(std::make_shared<const SamplerSettings>(settings));
}

std::vector<std::uint32_t> ids(const Candidates &candidates)
{
    std::vector<std::uint32_t> result;
    for (const Candidate &candidate : candidates.items)
        result.push_back(candidate.id.value());
    std::sort(result.begin(), result.end());
    return result;
}

TokenId argmax(const Candidates &candidates)
{
    return std::min_element(candidates.items.begin(), candidates.items.end(),
                            [](const Candidate &a, const Candidate &b) {
                                return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
                            })
        ->id;
}

/// Keeps everything that a recorder is shown.
class Record : public ChainRecorder
{
public:
    void begin(std::span<const float> logits) override { raw.assign(logits.begin(), logits.end()); }
    void afterStage(const StageSettings &stage, const CandidateSet &set, double microseconds) override
    {
        stages.push_back(stage);
        set.copyTo(lists.emplace_back());
        times.push_back(microseconds);
    }
    void beforeDraw(const CandidateSet &survivors, const SoftmaxWeights &weights) override
    {
        final.items = survivors.top(survivors.size());
        for (const Candidate &candidate : final.items)
            probabilities.push_back(weights.probabilityOf(candidate.logit));
    }
    void drawn(const DrawResult &result) override { draw = result; }

    std::vector<float> raw;
    std::vector<StageSettings> stages;
    std::vector<Candidates> lists;
    std::vector<double> times;
    Candidates final;
    std::vector<double> probabilities;
    DrawResult draw;
};

} // namespace

class TestSamplerProperties : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void topKAndMinPAreIdempotent()
    {
        for (const LogitShape shape : allShapes) {
            const std::vector<float> logits = randomLogits(11, 2000, shape);
            for (const StageSettings &stage :
                 {StageSettings{TopKParams{37}}, StageSettings{MinPParams{0.07F}}}) {
                const Result<Candidates> once = chainOf({stage}).filter(logits, {});
                const Result<Candidates> twice = chainOf({stage, stage}).filter(logits, {});
                QVERIFY(ids(*once) == ids(*twice));
            }
        }
    }

    void neutralStagesAreTheIdentityBitForBit()
    {
        // Run although they are inactive as settings: a repeat of 1 next to a presence that is switched on,
        // say, must not disturb a bit either. Here through history and neutral numbers.
        std::vector<float> logits = randomLogits(12, 3000, LogitShape::Gaussian);
        logits[5] = -0.0F;
        logits[6] = 1e-44F;
        const std::vector<TokenId> history = randomHistory(1, 200, logits.size());
        const std::vector<StageSettings> neutral = {
            {LogitBiasParams{{{TokenId(1), 0.0F}, {TokenId(5), 0.0F}}}},
            {PenaltiesParams{-1, 1.0F, 0.0F, 0.0F}},
            {TemperatureParams{1.0F}},
            {TopPParams{1.0F}},
            {MinPParams{0.0F}},
            {TopKParams{0}},
            {PenaltiesParams{-1, 1.0F, 0.0F, 1e-300}}, // rounds to frequency 0 in float
        };
        const Result<Candidates> result = chainOf(neutral).filter(logits, {history});
        QCOMPARE(result->items.size(), logits.size());
        for (const Candidate &candidate : result->items) {
            const float raw = logits[candidate.id.value()];
            // -0 + 0 is +0 for a bias: equal as a number, which is all that a bias of 0 promises for it.
            if (candidate.id == TokenId(5))
                QVERIFY(candidate.logit == 0.0F);
            else
                QVERIFY(std::memcmp(&candidate.logit, &raw, sizeof(float)) == 0);
        }
    }

    void argmaxSurvivesTemperatureAndCuts()
    {
        const std::vector<StageSettings> stages = {{TemperatureParams{0.3F}}, {TemperatureParams{3.0F}},
                                                   {TemperatureParams{0.0F}}, {TopKParams{3}},
                                                   {TopPParams{0.3F}},        {MinPParams{0.9F}}};
        for (const LogitShape shape :
             {LogitShape::Gaussian, LogitShape::Peaked, LogitShape::Ties, LogitShape::Holes}) {
            for (std::uint64_t seed = 0; seed < 20; ++seed) {
                const std::vector<float> logits = randomLogits(seed, 400, shape);
                const TokenId best = logitStatistics(logits)->argmax;
                for (const StageSettings &stage : stages)
                    QCOMPARE(argmax(*chainOf({stage}).filter(logits, {})).value(), best.value());
            }
        }
    }

    void everyTokenIsRemovedOnceOrSurvives()
    {
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
            const std::vector<float> logits = randomLogits(seed, 600, LogitShape::Gaussian);
            const std::vector<TokenId> history = randomHistory(seed, 50, logits.size());
            const SamplerSettings settings = randomSettings(seed, logits.size());
            Record record;
            const SamplerChain chain(std::make_shared<const SamplerSettings>(settings));
            QVERIFY(chain.run(logits, {history, seed}, &record));

            const auto active = std::count_if(settings.stages.begin(), settings.stages.end(),
                                              [](const StageSettings &stage) { return stage.isActive(); });
            QCOMPARE(record.lists.size(), std::size_t(active));
            std::vector<std::uint32_t> alive(logits.size());
            std::iota(alive.begin(), alive.end(), 0U);
            std::size_t removed = 0;
            for (const Candidates &list : record.lists) {
                const std::vector<std::uint32_t> after = ids(list);
                QVERIFY(std::adjacent_find(after.begin(), after.end()) == after.end());
                QVERIFY(std::includes(alive.begin(), alive.end(), after.begin(), after.end()));
                removed += alive.size() - after.size();
                alive = after;
                // What is left is a distribution.
                ReferenceList plain;
                for (const Candidate &item : list.items)
                    plain.push_back({item.id.value(), item.logit});
                const std::vector<double> p = referenceSoftmax(plain);
                QVERIFY(qAbs(std::accumulate(p.begin(), p.end(), 0.0) - 1.0) < 1e-9);
            }
            QVERIFY(alive == ids(record.final));
            QCOMPARE(removed + record.final.items.size(), logits.size());
            QVERIFY(std::binary_search(alive.begin(), alive.end(), record.draw.token.value()));
            QVERIFY(std::all_of(record.times.begin(), record.times.end(), [](double t) { return t >= 0.0; }));
        }
    }

    void recordedOrNotOnAnyThreadTheSameDraw()
    {
        for (const LogitShape shape : allShapes) {
            for (std::uint64_t seed = 0; seed < 25; ++seed) {
                const std::size_t n = seed % 5 == 0 ? 20000 : 700;
                const std::vector<float> logits = randomLogits(seed, n, shape);
                const std::vector<TokenId> history = randomHistory(seed, 40, n);
                const SamplerChain chain(
                    std::make_shared<const SamplerSettings>(randomSettings(seed + 100, n)));
                Record record;
                const DrawResult plain = *chain.run(logits, {history, seed});
                const DrawResult recorded = *chain.run(logits, {history, seed}, &record);
                DrawResult elsewhere;
                std::thread([&] { elsewhere = *chain.run(logits, {history, seed}); }).join();
                for (const DrawResult &other : {recorded, elsewhere, record.draw}) {
                    QCOMPARE(other.token.value(), plain.token.value());
                    QCOMPARE(other.u, plain.u);
                    QVERIFY(other.probability == plain.probability);
                    QCOMPARE(other.survivors, plain.survivors);
                }
                QCOMPARE(record.raw.size(), n);
            }
        }
    }

    void uLiesInTheIntervalOfTheDrawnToken()
    {
        const std::vector<float> logits = randomLogits(4, 5000, LogitShape::Gaussian);
        for (const auto &stages : {std::vector<StageSettings>{},
                                   {{TopPParams{0.9F}}},
                                   {{TopKParams{50}}, {TemperatureParams{1.5F}}}}) {
            for (std::uint64_t step = 0; step < 50; ++step) {
                Record record;
                const SamplerChain chain = chainOf(stages, 99);
                const DrawResult draw = *chain.run(logits, {{}, step}, &record);
                QVERIFY(draw.u >= 0.0 && draw.u < 1.0);
                QVERIFY(std::is_sorted(record.final.items.begin(), record.final.items.end(), comesBefore));
                double below = 0.0;
                std::size_t i = 0;
                for (; record.final.items[i].id != draw.token; ++i)
                    below += record.probabilities[i];
                QVERIFY(draw.u >= below - 1e-12);
                QVERIFY(draw.u < below + record.probabilities[i] + 1e-12);
                QVERIFY(draw.probability == record.probabilities[i]);
                const double sum =
                    std::accumulate(record.probabilities.begin(), record.probabilities.end(), 0.0);
                QVERIFY(qAbs(sum - 1.0) < 1e-6);
            }
        }
    }

    void stepsAndSeedsDrawDifferently()
    {
        const std::vector<float> logits(1000, 0.0F);
        std::vector<std::uint32_t> drawn;
        for (std::uint64_t seed = 0; seed < 2; ++seed) {
            for (std::uint64_t step = 0; step < 10; ++step)
                drawn.push_back(chainOf({}, seed).run(logits, {{}, step})->token.value());
        }
        std::sort(drawn.begin(), drawn.end());
        QVERIFY(std::unique(drawn.begin(), drawn.end()) - drawn.begin() > 15);
    }
};

TOKENLOUPE_TEST_MAIN(TestSamplerProperties)
#include "tst_samplerproperties.moc"
