// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/candidates.h"
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
    /// The raw logits: NaN counts as -inf, one must be finite.
    explicit StageMeter(std::span<const float> logits);

    StageMeasure measure(const Candidates &after);

    /// As of the last measure(): -inf for tokens that are not alive.
    float logit(TokenId id) const { return m_logits[id.value()]; }
    double probability(TokenId id) const { return m_sums.probabilityOf(logit(id)); }
    const SoftmaxSums &sums() const { return m_sums; }

private:
    std::vector<float> m_logits; // by id
    SoftmaxSums m_sums;
    std::size_t m_alive = 0;
};

} // namespace tokenloupe
