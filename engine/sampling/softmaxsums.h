// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/candidates.h"

#include <cstddef>
#include <span>

namespace tokenloupe {

/// What softmax needs of a set of logits, in double.
struct SoftmaxWeights
{
    float maximum = 0.0F;
    double sumExp = 0.0; ///< Σ e^(l - maximum), at least 1

    double logSumExp() const;
    double weightOf(float logit) const;      ///< e^(l - maximum)
    double probabilityOf(float logit) const; ///< softmax
};

/// And the entropy.
struct SoftmaxSums : SoftmaxWeights
{
    double sumXExp = 0.0; ///< Σ (l - maximum) e^(l - maximum)

    double entropyBits() const;
};

/// At least one logit must be finite, none +inf or NaN. Up to 1024 values the exponentials are double
/// precision; above, the vector kernel's (float, summed in double).
inline constexpr std::size_t exactSoftmaxLimit = 1024;
SoftmaxWeights softmaxWeights(std::span<const float> logits, float maximum);
SoftmaxSums softmaxSums(std::span<const float> logits, float maximum);
SoftmaxSums softmaxSums(std::span<const float> logits);
SoftmaxSums softmaxSums(std::span<const Candidate> items);

} // namespace tokenloupe
