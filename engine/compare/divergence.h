// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/base/strongindex.h"

#include <cstddef>
#include <span>

namespace tokenloupe {

/// How two rows of logits over one vocabulary differ. All sums in double; natural logarithms.
struct Divergence
{
    double kl = 0.0; ///< KL(reference ‖ other), nats; infinite where the other rules out what can happen
    double klBack = 0.0; ///< KL(other ‖ reference)
    double referenceLogSumExp = 0.0;
    double otherLogSumExp = 0.0;
    float largestDifference = 0.0F; ///< of a logit, absolute; tokens that are -inf in both do not count
    TokenId largestAt;              ///< invalid: no logit differs
    TokenId referenceArgmax;        ///< lowest id among equals
    TokenId otherArgmax;

    bool argmaxEqual() const { return referenceArgmax == otherArgmax; }
};

/// The rows must be of one length. NaN counts as -inf; a row with +inf or without a finite logit is
/// InvalidLogits.
Result<Divergence> divergenceOf(std::span<const float> reference, std::span<const float> other);

/// The same over many positions.
class DivergenceTotals
{
public:
    void add(const Divergence &divergence);

    std::size_t positions() const { return m_positions; }
    double meanKl() const; ///< 0 without positions, as all of them
    double largestKl() const { return m_largestKl; }
    std::size_t largestAt() const { return m_largestAt; } ///< the position, counted as they were added
    double argmaxEqualShare() const;
    float largestDifference() const { return m_largestDifference; }

private:
    std::size_t m_positions = 0;
    std::size_t m_equal = 0;
    std::size_t m_largestAt = 0;
    double m_sum = 0.0;
    double m_largestKl = 0.0;
    float m_largestDifference = 0.0F;
};

} // namespace tokenloupe
