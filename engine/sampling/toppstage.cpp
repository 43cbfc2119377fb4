// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/stages.h"

namespace tokenloupe {

void applyTopP(const TopPParams &params, KeepAtLeast least, CandidateSet &set)
{
    if (!(params.p < 1.0F))
        return;
    const SoftmaxSums sums = set.sums();
    // A hair less than p: 0.8 as a float lies above 0.8, and 0.5 and 0.3 from float logits add up to a little
    // less.
    constexpr double rounding = 2.5e-7;
    const double wanted = static_cast<double>(params.p) * (1.0 - rounding) * sums.sumExp;
    DescendingWalk walk(set);
    std::size_t count = 0;
    double running = 0.0;
    while (const Candidate *candidate = walk.next()) {
        running += sums.weightOf(candidate->logit);
        ++count;
        if (running >= wanted && count >= least.count)
            break;
    }
    if (count < set.size())
        set.keep(walk.prefix(count));
}

} // namespace tokenloupe
