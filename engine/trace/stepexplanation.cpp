// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/stepexplanation.h"

#include "engine/sampling/logitscan.h"
#include "engine/trace/explanationrecorder.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace tokenloupe {

namespace {

/// The logits without NaN: `logits` itself where it has none, else a copy in `storage`.
std::span<const float> cleaned(std::span<const float> logits, std::vector<float> &storage)
{
    if (findFlaw(logits) == LogitFlaw::None)
        return logits;
    storage.assign(logits.begin(), logits.end());
    for (float &logit : storage) {
        if (std::isnan(logit))
            logit = -std::numeric_limits<float>::infinity();
    }
    return storage;
}

void rankVocabulary(std::span<const float> logits, const LogitStatistics &statistics,
                    StepExplanation &explanation)
{
    constexpr std::size_t cumulativeLength = 4096;
    std::vector<float> &ranked = explanation.rawByRank;
    ranked.assign(logits.begin(), logits.end());
    std::sort(ranked.begin(), ranked.end(), std::greater<>());
    explanation.rawCumulative.reserve(std::min(ranked.size(), cumulativeLength));
    double running = 0.0;
    for (std::size_t i = 0; i < ranked.size(); ++i) {
        const double probability = statistics.probabilityOf(ranked[i]);
        ranked[i] = static_cast<float>(probability);
        if (i < cumulativeLength) {
            running += probability;
            explanation.rawCumulative.push_back(std::min(running, 1.0));
        }
    }
}

void addCandidate(Candidate candidate, std::uint32_t rank, const LogitStatistics &statistics,
                  StepExplanation &explanation)
{
    ExplainedCandidate explained;
    explained.id = candidate.id;
    explained.rank = rank;
    explained.logit = candidate.logit;
    explained.pRaw = statistics.probabilityOf(candidate.logit);
    explanation.candidates.push_back(std::move(explained));
}

} // namespace

Result<StepExplanation> explainStep(const ExplainRequest &request)
{
    if (!request.settings)
        return makeError(ErrorCode::InvalidArgument, "explain step", "no sampler settings");
    if (request.chosen.isValid() && request.chosen.value() >= request.logits.size())
        return makeError(ErrorCode::InvalidArgument, "explain step",
                         "token " + std::to_string(request.chosen.value()) +
                             " is outside the vocabulary of " + std::to_string(request.logits.size()));
    const Result<LogitStatistics> statistics = logitStatistics(request.logits);
    if (!statistics)
        return tl::unexpected<Error>(statistics.error());
    std::vector<float> storage;
    const std::span<const float> logits = cleaned(request.logits, storage);
    const SamplerChain chain(request.settings);
    const SamplingContext context{request.history, request.step};

    StepExplanation explanation;
    explanation.ref = request.ref;
    explanation.settings = request.settings;
    explanation.chosen = request.chosen;
    if (!explanation.chosen.isValid()) {
        // The chosen token is followed through every stage, so it must be known before the chain is watched.
        const Result<DrawResult> draw = chain.run(logits, context);
        if (!draw)
            return tl::unexpected<Error>(draw.error());
        explanation.chosen = draw->token;
    }
    explanation.rawEntropyBits = statistics->entropyBits;
    explanation.rawLogSumExp = statistics->logSumExp;

    std::uint32_t rank = 0;
    for (const Candidate &candidate : selectTop(logits, request.top))
        addCandidate(candidate, rank++, *statistics, explanation);
    const std::uint32_t chosenRank = rankOf(logits, explanation.chosen);
    if (chosenRank >= rank)
        addCandidate({explanation.chosen, logits[explanation.chosen.value()]}, chosenRank, *statistics,
                     explanation);
    if (request.rankWholeVocabulary)
        rankVocabulary(logits, *statistics, explanation);

    const SoftmaxWeights weights{statistics->maximum,
                                 std::exp(statistics->logSumExp - static_cast<double>(statistics->maximum))};
    ExplanationRecorder recorder(explanation, request.history, weights);
    const Result<DrawResult> draw = chain.run(logits, context, &recorder);
    if (!draw)
        return tl::unexpected<Error>(draw.error());
    // Without an active stage the draw is from the raw distribution: p is there, from beforeDraw().
    return explanation;
}

} // namespace tokenloupe
