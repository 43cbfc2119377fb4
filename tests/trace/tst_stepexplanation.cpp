// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/stepexplanation.h"
#include "tests/sampling/samplingreference.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::shared_ptr<const SamplerSettings> shared(std::vector<StageSettings> stages, std::uint64_t seed = 5)
{
    auto settings = std::make_shared<SamplerSettings>();
    settings->stages = std::move(stages);
    settings->seed = seed;
    return settings;
}

ExplainRequest request(const std::vector<float> &logits, std::shared_ptr<const SamplerSettings> settings,
                       std::span<const TokenId> history = {})
{
    ExplainRequest result;
    result.ref = {RunId(1), StepIndex(2)};
    result.logits = logits;
    result.history = history;
    result.settings = std::move(settings);
    result.step = 2;
    return result;
}

const ExplainedCandidate *candidateOf(const StepExplanation &explanation, std::uint32_t id)
{
    const auto at = std::find_if(explanation.candidates.begin(), explanation.candidates.end(),
                                 [id](const ExplainedCandidate &c) { return c.id == TokenId(id); });
    return at == explanation.candidates.end() ? nullptr : &*at;
}

bool close(double a, double b, double tolerance = 1e-6)
{
    return std::abs(a - b) < tolerance;
}

} // namespace

class TestStepExplanation : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void workedExample()
    {
        const std::vector<float> logits = {3, 2, 1, 0, -1};
        const auto settings =
            shared({{TopKParams{4}}, {TopPParams{0.9F}}, {MinPParams{0.0F}}, {TemperatureParams{0.5F}}});
        const Result<StepExplanation> result = explainStep(request(logits, settings));
        QVERIFY(result.has_value());
        QVERIFY(result->ref == (StepRef{RunId(1), StepIndex(2)}));
        QVERIFY(result->settings == settings);

        // min-p is off and therefore no stage.
        QCOMPARE(result->stages.size(), std::size_t(3));
        QCOMPARE(QString::fromStdString(result->stages[0].name), QStringLiteral("top_k"));
        QCOMPARE(QString::fromStdString(result->stages[0].label), QStringLiteral("top-k 4"));
        QCOMPARE(QString::fromStdString(result->stages[1].name), QStringLiteral("top_p"));
        QCOMPARE(QString::fromStdString(result->stages[2].label), QStringLiteral("temp 0.50"));
        QCOMPARE(result->stages[0].candidates, 4U);
        QVERIFY(close(result->stages[0].mass, 0.988344));
        QCOMPARE(result->stages[1].candidates, 3U);
        QVERIFY(close(result->stages[1].mass, 0.967941)); // 0.956659 of 0.988344
        QCOMPARE(result->stages[2].mass, 1.0);
        QVERIFY(result->stages[2].entropyBits < result->stages[1].entropyBits);
        QVERIFY(close(result->rawEntropyBits, 1.442656));
        QVERIFY(close(std::exp(3.0 - result->rawLogSumExp), 0.636409));

        QCOMPARE(result->candidates.size(), std::size_t(5));
        const double raw[] = {0.636409, 0.234122, 0.086129, 0.031685, 0.011656};
        const double afterTopK[] = {0.643914, 0.236883, 0.087144, 0.032059, 0};
        const double afterTopP[] = {0.665241, 0.244728, 0.090031, 0, 0};
        const double final[] = {0.866813, 0.117310, 0.015876, 0, 0};
        const std::int32_t removedBy[] = {-1, -1, -1, 1, 0};
        for (std::uint32_t i = 0; i < 5; ++i) {
            const ExplainedCandidate &candidate = result->candidates[i];
            QCOMPARE(candidate.id.value(), i);
            QCOMPARE(candidate.rank, i);
            QCOMPARE(candidate.logit, logits[i]);
            QVERIFY(close(candidate.pRaw, raw[i]));
            QCOMPARE(candidate.pStage.size(), std::size_t(3));
            QVERIFY(close(candidate.pStage[0], afterTopK[i]));
            QVERIFY(close(candidate.pStage[1], afterTopP[i]));
            QVERIFY(close(candidate.pStage[2], final[i]));
            QVERIFY(close(candidate.p, final[i]));
            QCOMPARE(candidate.removedBy, removedBy[i]);
            QCOMPARE(candidate.logitStage[0], i < 4 ? logits[i] : -infinity);
            QCOMPARE(candidate.logitStage[2], i < 3 ? logits[i] * 2 : -infinity);
            QVERIFY(close(result->rawByRank[i], raw[i]));
        }
        QVERIFY(close(result->rawCumulative[1], 0.870530));
        QVERIFY(close(result->rawCumulative[4], 1.0, 1e-12));
        QCOMPARE(result->finalIds.size(), std::size_t(3));
        QVERIFY(close(result->finalCumulative[0], 0.866813));
        QCOMPARE(result->finalCumulative[2], 1.0);
        QCOMPARE(result->chosen.value(), result->draw.token.value());
        QVERIFY(result->penalties.empty());
        QCOMPARE(result->penaltyWindow, 0);
    }

    void theSameDrawAsTheChain()
    {
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            const std::size_t n = 400;
            const std::vector<float> logits = randomLogits(seed, n, allShapes[seed % 6]);
            const std::vector<TokenId> history = randomHistory(seed, 30, n);
            const auto settings = std::make_shared<const SamplerSettings>(randomSettings(seed, n));
            const Result<DrawResult> draw = SamplerChain(settings).run(logits, {history, 2});
            const Result<StepExplanation> result = explainStep(request(logits, settings, history));
            QCOMPARE(result.has_value(), draw.has_value());
            if (!draw)
                continue;
            QVERIFY(result->draw.token == draw->token && result->draw.u == draw->u);
            QVERIFY(result->draw.probability == draw->probability);
            QCOMPARE(result->draw.survivors, draw->survivors);

            // The mark of u lies in the drawn token's part of the cumulative bar.
            const auto at = std::find(result->finalIds.begin(), result->finalIds.end(), draw->token);
            QVERIFY(at != result->finalIds.end());
            const auto index = static_cast<std::size_t>(at - result->finalIds.begin());
            const double from = index ? result->finalCumulative[index - 1] : 0.0;
            QVERIFY(draw->u >= from - 1e-9 && draw->u < result->finalCumulative[index] + 1e-9);
            QVERIFY(std::is_sorted(result->finalCumulative.begin(), result->finalCumulative.end()));
            QCOMPARE(result->finalCumulative.back(), 1.0);
            const ExplainedCandidate *chosen = candidateOf(*result, draw->token.value());
            QVERIFY(chosen);
            QCOMPARE(chosen->removedBy, -1);
            QVERIFY(chosen->p == draw->probability);
        }
    }

    void removalIsAPartitionAndEachStageADistribution()
    {
        for (std::uint64_t seed = 100; seed < 130; ++seed) {
            const std::size_t n = 300;
            const std::vector<float> logits = randomLogits(seed, n, LogitShape::Gaussian);
            const std::vector<TokenId> history = randomHistory(seed, 30, n);
            auto wanted =
                request(logits, std::make_shared<const SamplerSettings>(randomSettings(seed, n)), history);
            wanted.top = 1000; // all
            const Result<StepExplanation> result = explainStep(wanted);
            QVERIFY(result.has_value());
            QCOMPARE(result->candidates.size(), n);
            std::uint32_t alive = n;
            for (std::size_t s = 0; s < result->stages.size(); ++s) {
                const auto removed =
                    std::count_if(result->candidates.begin(), result->candidates.end(),
                                  [s](const auto &c) { return c.removedBy == std::int32_t(s); });
                alive -= std::uint32_t(removed);
                QCOMPARE(result->stages[s].candidates, alive);
                double sum = 0.0, before = 0.0, held = 0.0;
                for (const ExplainedCandidate &c : result->candidates) {
                    sum += c.pStage[s];
                    const double previous = s ? c.pStage[s - 1] : c.pRaw;
                    before += previous;
                    const bool survives = c.removedBy < 0 || c.removedBy > std::int32_t(s);
                    held += survives ? previous : 0.0;
                    QCOMPARE(c.logitStage[s] == -infinity, !survives);
                    QVERIFY(survives || c.pStage[s] == 0.0);
                }
                QVERIFY(close(sum, 1.0, 1e-9));
                QVERIFY(close(result->stages[s].mass, held / before, 1e-9));
                QVERIFY(result->stages[s].mass > 0.0 && result->stages[s].mass <= 1.0);
            }
            QCOMPARE(result->draw.survivors, alive);
            QCOMPARE(result->finalIds.size(), std::size_t(alive));
            for (const ExplainedCandidate &c : result->candidates)
                QVERIFY(c.removedBy < 0 || c.p == 0.0);
        }
    }

    void chosenTokenIsFollowedWhereverItIs()
    {
        const std::vector<float> logits = randomLogits(8, 1000, LogitShape::Gaussian);
        auto wanted = request(logits, shared({{TopKParams{10}}}));
        wanted.top = 5;
        wanted.rankWholeVocabulary = false;
        wanted.chosen = TokenId(logitStatistics(logits)->argmax);
        Result<StepExplanation> result = explainStep(wanted);
        QCOMPARE(result->candidates.size(), std::size_t(5));
        QVERIFY(result->rawByRank.empty() && result->rawCumulative.empty());
        QVERIFY(result->chosen == wanted.chosen);

        // A forced token from far down: not what the settings draw.
        const auto worst = std::uint32_t(std::min_element(logits.begin(), logits.end()) - logits.begin());
        wanted.chosen = TokenId(worst);
        result = explainStep(wanted);
        QCOMPARE(result->candidates.size(), std::size_t(6));
        QCOMPARE(result->candidates.back().id.value(), worst);
        QCOMPARE(result->candidates.back().rank, 999U);
        QCOMPARE(result->candidates.back().removedBy, 0);
        QVERIFY(result->chosen != result->draw.token);
        for (std::size_t i = 0; i < 5; ++i)
            QCOMPARE(rankOf(logits, result->candidates[i].id), std::uint32_t(i));
    }

    void penaltiesShowBeforeAndAfter()
    {
        const std::vector<float> logits = {3, 2, 1, 0, -1};
        const std::vector<TokenId> history = {TokenId(1), TokenId(0), TokenId(3), TokenId(0), TokenId(4)};
        const auto settings = shared({{PenaltiesParams{4, 1.2F, 0.3F, 0.1F}}, {TopKParams{2}}});
        const Result<StepExplanation> result = explainStep(request(logits, settings, history));
        QVERIFY(result.has_value());
        QCOMPARE(result->penaltyWindow, 4);
        QCOMPARE(result->penalties.size(), std::size_t(3)); // token 1 lies outside of the window

        const ExplainedPenalty &first = result->penalties.front();
        QCOMPARE(first.id.value(), 0U);
        QCOMPARE(first.count, 2U);
        QCOMPARE(first.logitBefore, 3.0F);
        QVERIFY(close(first.logitAfter, 2.0));
        QVERIFY(close(first.pBefore, 0.636409));
        const double sum = std::exp(2.0) + std::exp(2.0) + std::exp(1.0) + std::exp(-0.4) + std::exp(-1.6);
        QVERIFY(close(first.pAfter, std::exp(2.0) / sum));
        QCOMPARE(result->penalties[1].id.value(), 4U); // lost 0.6
        QCOMPARE(result->penalties[2].id.value(), 3U); // lost 0.4
        QVERIFY(close(result->penalties[2].logitAfter, -0.4));
        QCOMPARE(result->stages[0].candidates, 5U);
        QCOMPARE(result->stages[0].mass, 1.0);
    }

    void penaltiesBehindACutOnlyConcernWhoIsLeft()
    {
        const std::vector<float> logits = {3, 2, 1, 0, -1};
        const std::vector<TokenId> history = {TokenId(1), TokenId(4), TokenId(200)};
        const auto settings = shared({{TopKParams{2}}, {PenaltiesParams{-1, 1.0F, 0.5F, 0.0F}}});
        const Result<StepExplanation> result = explainStep(request(logits, settings, history));
        QCOMPARE(result->penalties.size(), std::size_t(1));
        QCOMPARE(result->penalties[0].id.value(), 1U);
        QVERIFY(close(result->penalties[0].pBefore, 0.268941)); // among the two
        QCOMPARE(result->penaltyWindow, 3);
    }

    void bannedTokensAreRemovedByTheBias()
    {
        const std::vector<float> logits = {3, 2, 1, -infinity, std::numeric_limits<float>::quiet_NaN()};
        const auto settings =
            shared({{LogitBiasParams{{{TokenId(0), -infinity}}}}, {TemperatureParams{0.0F}}});
        const Result<StepExplanation> result = explainStep(request(logits, settings));
        QVERIFY(result.has_value());
        QCOMPARE(candidateOf(*result, 0)->removedBy, 0);
        QCOMPARE(candidateOf(*result, 1)->removedBy, -1);
        QCOMPARE(candidateOf(*result, 2)->removedBy, 1);
        QCOMPARE(candidateOf(*result, 3)->removedBy, 1);
        QVERIFY(close(result->stages[0].mass, 1.0 - 0.665241));
        QCOMPARE(result->draw.token.value(), 1U);
        QCOMPARE(candidateOf(*result, 1)->p, 1.0);
        // NaN reads as -inf everywhere.
        QVERIFY(candidateOf(*result, 4)->logit == -infinity);
        QCOMPARE(candidateOf(*result, 4)->pRaw, 0.0);
        QCOMPARE(result->rawByRank.back(), 0.0F);
    }

    void withoutStagesTheDrawIsFromTheRawDistribution()
    {
        const std::vector<float> logits = randomLogits(2, 6000, LogitShape::Gaussian);
        const Result<StepExplanation> result = explainStep(request(logits, shared({})));
        QVERIFY(result.has_value());
        QVERIFY(result->stages.empty());
        for (const ExplainedCandidate &c : result->candidates)
            QVERIFY(close(c.p, c.pRaw));
        QCOMPARE(result->finalIds.size(), std::size_t(4096));
        QVERIFY(result->finalCumulative.back() < 1.0); // the list was cut, not the distribution
        QCOMPARE(result->rawByRank.size(), logits.size());
        QVERIFY(std::is_sorted(result->rawByRank.begin(), result->rawByRank.end(), std::greater<>()));
        QVERIFY(close(std::accumulate(result->rawByRank.begin(), result->rawByRank.end(), 0.0), 1.0, 1e-5));
        QCOMPARE(result->rawCumulative.size(), std::size_t(4096));
    }

    void refusals()
    {
        const std::vector<float> good = {1, 2};
        ExplainRequest wanted = request(good, nullptr);
        QVERIFY(explainStep(wanted).error().code == ErrorCode::InvalidArgument);
        wanted.settings = shared({});
        wanted.chosen = TokenId(2);
        QVERIFY(explainStep(wanted).error().code == ErrorCode::InvalidArgument);

        const std::vector<float> bad = {-infinity, -infinity};
        QVERIFY(explainStep(request(bad, shared({}))).error().code == ErrorCode::InvalidLogits);
        const auto bans = shared({{LogitBiasParams{{{TokenId(0), -infinity}, {TokenId(1), -infinity}}}}});
        wanted = request(good, bans);
        QVERIFY(explainStep(wanted).error().code == ErrorCode::InvalidLogits);
        wanted.chosen = TokenId(1);
        QVERIFY(explainStep(wanted).error().code == ErrorCode::InvalidLogits);
    }
};

TOKENLOUPE_TEST_MAIN(TestStepExplanation)
#include "tst_stepexplanation.moc"
