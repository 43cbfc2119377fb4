// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/stepexplanation.h"

#include "engine/sampling/logitscan.h"
#include "engine/trace/explanationrecorder.h"
#include "kernels/cpu/cpukernels.h"

#include <algorithm>
#include <cmath>
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

void rankVocabulary(std::span<const float> logits, StepExplanation &explanation)
{
    constexpr std::size_t cumulativeLength = 4096;
    std::vector<float> &ranked = explanation.rawByRank;
    ranked.assign(logits.begin(), logits.end());
    sortDescending(ranked);
    const std::size_t listed = std::min(ranked.size(), cumulativeLength);
    explanation.rawCumulative.reserve(listed);
    double running = 0.0;
    for (std::size_t i = 0; i < listed; ++i) {
        running += std::exp(static_cast<double>(ranked[i]) - explanation.rawLogSumExp);
        explanation.rawCumulative.push_back(std::min(running, 1.0));
    }
    // Relative to the largest: a difference of floats near 0 keeps its digits.
    const float largest = ranked.front();
    const auto size = static_cast<std::int64_t>(ranked.size());
    cpuKernels().expSum(ranked.data(), largest, size);
    const double scale = std::exp(static_cast<double>(largest) - explanation.rawLogSumExp);
    cpuKernels().scale(static_cast<float>(scale), size, ranked.data());
}

void addCandidate(Candidate candidate, std::uint32_t rank, std::size_t stages, StepExplanation &explanation)
{
    ExplainedCandidate explained;
    explained.id = candidate.id;
    explained.rank = rank;
    explained.logit = candidate.logit;
    explained.pRaw = std::exp(static_cast<double>(candidate.logit) - explanation.rawLogSumExp);
    explained.pStage.reserve(stages);
    explained.logitStage.reserve(stages);
    explanation.candidates.push_back(std::move(explained));
}

/// The raw distribution: entropy and normaliser, the first candidates, the chosen one.
Status describeRaw(const ExplainRequest &request, std::span<const float> logits, StepExplanation &explanation)
{
    const StepRecord *record =
        request.record && request.record->ref == request.ref ? request.record : nullptr;
    if (record) {
        explanation.rawEntropyBits = record->entropyBits;
        explanation.rawLogSumExp = record->logSumExp;
    } else {
        const Result<LogitStatistics> statistics = logitStatistics(logits);
        if (!statistics)
            return tl::unexpected<Error>(statistics.error());
        explanation.rawEntropyBits = statistics->entropyBits;
        explanation.rawLogSumExp = statistics->logSumExp;
    }
    const auto stages = static_cast<std::size_t>(
        std::count_if(request.settings->stages.begin(), request.settings->stages.end(),
                      [](const StageSettings &stage) { return stage.isActive(); }));
    std::uint32_t rank = 0;
    explanation.candidates.reserve(std::size_t(request.top) + 1);
    for (const Candidate &candidate : selectTop(logits, request.top))
        addCandidate(candidate, rank++, stages, explanation);
    const bool isRecorded = record && record->token == explanation.chosen;
    const std::uint32_t chosenRank = isRecorded ? record->rank : rankOf(logits, explanation.chosen);
    if (chosenRank >= rank)
        addCandidate({explanation.chosen, logits[explanation.chosen.value()]}, chosenRank, stages,
                     explanation);
    if (request.rankWholeVocabulary)
        rankVocabulary(logits, explanation);
    return {};
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
    if (const Status described = describeRaw(request, logits, explanation); !described)
        return tl::unexpected<Error>(described.error());

    ExplanationRecorder recorder(explanation, request.history);
    const Result<DrawResult> draw = chain.run(logits, context, &recorder);
    if (!draw)
        return tl::unexpected<Error>(draw.error());
    // Without an active stage the draw is from the raw distribution: p is there, from beforeDraw().
    return explanation;
}

} // namespace tokenloupe
