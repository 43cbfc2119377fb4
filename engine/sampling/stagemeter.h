// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/candidateset.h"
#include "engine/sampling/scratch.h"
#include "engine/sampling/softmaxsums.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tokenloupe {

struct StageMeasure
{
    std::uint32_t candidates = 0; ///< alive after the stage
    double mass = 1.0;            ///< share of the probability before it that its survivors held
    double entropyBits = 0.0;     ///< over the survivors
};

/// Follows a chain from stage to stage and measures what each did. Probabilities are softmax over those who
/// are alive at that point, so they sum to 1 at every stage.
class StageMeter
{
public:
    /// The raw logits: no NaN, one must be finite; they outlive the meter. `weights` are theirs.
    StageMeter(std::span<const float> logits, const SoftmaxWeights &weights);
    explicit StageMeter(std::span<const float> logits);

    StageMeasure measure(const CandidateSet &after);

    /// As of the last measure(): -inf for tokens that are not alive.
    float logit(TokenId id) const;
    double probability(TokenId id) const { return m_weights.probabilityOf(logit(id)); }
    const SoftmaxWeights &weights() const { return m_weights; }

private:
    std::span<const float> m_row;  ///< by id, as long as many are alive
    Scratch<float> m_own;          ///< what m_row refers to after a stage
    std::vector<Candidate> m_list; ///< by rising id, once few are alive
    SoftmaxWeights m_weights;
    std::size_t m_alive = 0;
};

} // namespace tokenloupe
