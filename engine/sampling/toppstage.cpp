// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/stages.h"

namespace tokenloupe {

void applyTopP(const TopPParams &params, KeepAtLeast least, CandidateSet &set)
{
    if (!(params.p < 1.0F))
        return;
    const SoftmaxWeights weights = set.weights();
    // A hair less than p: 0.8 as a float lies above 0.8, and 0.5 and 0.3 from float logits add up to a little
    // less.
    constexpr double rounding = 2.5e-7;
    const double wanted = static_cast<double>(params.p) * (1.0 - rounding) * weights.sumExp;
    const auto end = set.prefixOf(weights, {wanted, Reach::AtLeast});
    if (!end)
        return;
    if (end->count < least.count && least.count < set.size())
        set.keep(set.top(least.count));
    else if (end->count < set.size() && least.count < set.size())
        set.keepPrefix(*end);
}

} // namespace tokenloupe
