// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/stages.h"

#include <cmath>

namespace tokenloupe {

void applyMinP(const MinPParams &params, KeepAtLeast least, CandidateSet &set)
{
    if (!(params.p > 0.0F))
        return;
    // p_i ≥ p · p_max, without computing a probability.
    const double maximum = set.maximum();
    const double threshold = maximum + std::log(static_cast<double>(params.p));
    if (least.count <= 1 && maximum >= threshold) {
        set.keepAtLeast(threshold);
        return;
    }
    // Some must stay although they are below the threshold; with p > 1 even the best one is.
    std::vector<Candidate> first = set.top(least.count);
    if (static_cast<double>(first.back().logit) >= threshold)
        set.keepAtLeast(threshold);
    else if (first.size() < set.size())
        set.keep(std::move(first));
}

} // namespace tokenloupe
