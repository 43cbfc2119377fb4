// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/stages.h"

namespace tokenloupe {

void applyTopP(const TopPParams &params, KeepAtLeast least, CandidateSet &set)
{
    if (!(params.p < 1.0F))
        return;
    const SoftmaxSums sums = set.sums();
    const double wanted = static_cast<double>(params.p) * sums.sumExp;
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
