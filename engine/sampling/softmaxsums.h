// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/candidates.h"

#include <span>

namespace tokenloupe {

/// What softmax, entropy and log-sum-exp need of a set of logits, in double.
struct SoftmaxSums
{
    float maximum = 0.0F;
    double sumExp = 0.0;  ///< Σ e^(l - maximum), at least 1
    double sumXExp = 0.0; ///< Σ (l - maximum) e^(l - maximum)

    double logSumExp() const;
    double entropyBits() const;
    double weightOf(float logit) const;      ///< e^(l - maximum)
    double probabilityOf(float logit) const; ///< softmax
};

/// At least one logit must be finite, none +inf or NaN. Up to 4096 values the exponentials are double
/// precision; above, the vector kernel's (float, summed in double).
SoftmaxSums softmaxSums(std::span<const float> logits);
SoftmaxSums softmaxSums(std::span<const Candidate> items);

} // namespace tokenloupe
