// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"

#include <cmath>

namespace tokenloupe {

/// Statistics of softmax over all logits (double sums).
struct LogitStatistics
{
    double logSumExp = 0.0;
    double entropyBits = 0.0;
    float maximum = 0.0F;
    TokenId argmax; ///< lowest id among equals

    double probabilityOf(float logit) const { return std::exp(static_cast<double>(logit) - logSumExp); }
};

} // namespace tokenloupe
