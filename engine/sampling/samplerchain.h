// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/logitstatistics.h"
#include "engine/base/result.h"
#include "engine/sampling/candidates.h"
#include "engine/sampling/samplersettings.h"

#include <cstdint>
#include <memory>
#include <span>

namespace tokenloupe {

/// What the stages may read beside the candidates.
struct SamplingContext
{
    std::span<const TokenId> history; ///< prompt and drawn tokens before this step, oldest first
    std::uint64_t step = 0;           ///< RNG counter: the drawn token's index within the run
};

struct DrawResult
{
    TokenId token;
    double u = 0.0;           ///< the draw, in [0, 1)
    double probability = 0.0; ///< of `token` at the draw
    std::uint32_t survivors = 0;
};

class CandidateSet;
struct SoftmaxWeights;

/// Sees every stage of a run of the chain; must not change anything. The sets are those that the chain works
/// on: what is not looked at costs nothing.
class ChainRecorder
{
public:
    virtual ~ChainRecorder() = default;
    virtual void begin(std::span<const float> logits) = 0;
    /// After the stage; `microseconds` is the stage's own time. Called for active stages only.
    virtual void afterStage(const StageSettings &stage, const CandidateSet &set, double microseconds) = 0;
    /// Before the draw, which walks the survivors in descending order; their probabilities are
    /// weights.probabilityOf(logit).
    virtual void beforeDraw(const CandidateSet &survivors, const SoftmaxWeights &weights) = 0;
    virtual void drawn(const DrawResult &result) = 0;
};

/// Runs the stages of a settings value in order, then draws: softmax over the survivors (double), walk in
/// descending order until the running sum exceeds u · Σ, u = uniformDraw(seed, step, 0).
/// Pure: the same logits, context and settings give the same token, recorded or not, on any thread.
class SamplerChain
{
public:
    explicit SamplerChain(std::shared_ptr<const SamplerSettings> settings);

    const SamplerSettings &settings() const { return *m_settings; }
    std::shared_ptr<const SamplerSettings> sharedSettings() const { return m_settings; }

    /// InvalidLogits when no logit is finite (or +inf / only NaN).
    Result<DrawResult> run(std::span<const float> logits, const SamplingContext &context,
                           ChainRecorder *recorder = nullptr) const;
    /// The stages without the draw: for `sample` and tests.
    Result<Candidates> filter(std::span<const float> logits, const SamplingContext &context,
                              ChainRecorder *recorder = nullptr) const;

private:
    std::shared_ptr<const SamplerSettings> m_settings;
};

Result<LogitStatistics> logitStatistics(std::span<const float> logits);
/// Number of tokens before `id` in descending order (equal logits: lower ids first).
std::uint32_t rankOf(std::span<const float> logits, TokenId id);

} // namespace tokenloupe
