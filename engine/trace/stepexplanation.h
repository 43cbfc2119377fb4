// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/sampling/samplerchain.h"
#include "engine/trace/steprecord.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tokenloupe {

struct ExplainedStage
{
    StageSettings settings;
    std::string name;             ///< "top_k"
    std::string label;            ///< "top-k 40"
    std::uint32_t candidates = 0; ///< alive after it
    double mass = 1.0;            ///< share of the probability before it that its survivors held
    double entropyBits = 0.0;     ///< after it, over the survivors
    double microseconds = 0.0;
};

struct ExplainedCandidate
{
    TokenId id;
    std::uint32_t rank = 0; ///< raw order, from 0
    float logit = 0.0F;     ///< raw
    double pRaw = 0.0;
    double p = 0.0;                ///< at the draw; 0 when removed
    std::int32_t removedBy = -1;   ///< index into stages, -1: survived
    std::vector<double> pStage;    ///< after each stage, renormalised; 0 when removed
    std::vector<float> logitStage; ///< after each stage; -inf when removed
};

struct ExplainedPenalty
{
    TokenId id;
    std::uint32_t count = 0; ///< in the window
    float logitBefore = 0.0F, logitAfter = 0.0F;
    double pBefore = 0.0, pAfter = 0.0;
};

/// The distribution of one step through every active stage: computed by the same SamplerChain, with a
/// recorder.
struct StepExplanation
{
    StepRef ref;
    std::shared_ptr<const SamplerSettings> settings;
    std::vector<ExplainedStage> stages; ///< active ones, in order
    std::vector<ExplainedCandidate>
        candidates;                          ///< raw order; the top ones, and the chosen token wherever it is
    std::vector<ExplainedPenalty> penalties; ///< tokens of the window, largest change first
    std::int32_t penaltyWindow = 0;
    /// After the last stage, descending: ids and running sums (last = 1), at most 4096 entries.
    std::vector<TokenId> finalIds;
    std::vector<double> finalCumulative;
    /// Raw probabilities by rank (descending), whole vocabulary, float.
    std::vector<float> rawByRank;
    std::vector<double> rawCumulative; ///< running sums of rawByRank's first 4096
    double rawEntropyBits = 0.0;
    double rawLogSumExp = 0.0;
    DrawResult draw; ///< what these settings draw here
    TokenId chosen;  ///< what the run took (draw.token for a "what if" without a record)
};

struct ExplainRequest
{
    StepRef ref;
    std::span<const float> logits;
    std::span<const TokenId> history;
    std::shared_ptr<const SamplerSettings> settings;
    std::uint64_t step = 0;
    TokenId chosen; ///< invalid: use the draw
    /// Of this step, where there is one: its statistics of the raw logits are taken over instead of computed
    /// again. Null: computed.
    const StepRecord *record = nullptr;
    std::uint32_t top = 64; ///< candidates in raw order
    bool rankWholeVocabulary =
        true; ///< fill rawByRank (sorts the vocabulary: not for live use at full speed)
};

Result<StepExplanation> explainStep(const ExplainRequest &request);

/// Pause between explanations while tokens come, a small part of one core. Panels draw no more often
/// (RefreshPace::runningRest).
constexpr std::chrono::milliseconds liveExplanationInterval(100);

} // namespace tokenloupe
