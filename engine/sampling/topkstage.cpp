// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/stages.h"

#include <algorithm>

namespace tokenloupe {

void applyTopK(const TopKParams &params, KeepAtLeast least, CandidateSet &set)
{
    if (params.k <= 0)
        return;
    const std::size_t count = std::max(static_cast<std::size_t>(params.k), least.count);
    if (count < set.size())
        set.keep(set.top(count));
}

} // namespace tokenloupe
