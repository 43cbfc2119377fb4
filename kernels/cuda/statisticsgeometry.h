// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/launchshape.h"

#include <cstdint>

// How statistics of logits are shared out: slices of a row each give their sums and their largest logits as a
// sorted list; lists are merged, many to one, until one is left. Pure functions of the host.

namespace tokenloupe::cuda {

constexpr std::int32_t sliceColumns = 2048; ///< logits of one block
constexpr std::int32_t mergeKeys = 4096;    ///< logits of lists that one block merges

struct StatisticsPlan
{
    std::int32_t slices = 0;       ///< of a row; 0: there is no plan for this shape
    std::int32_t listBits = 0;     ///< log2 of the length of a list: the first power of two from `top` on
    std::int32_t sliceBits = 0;    ///< log2 of the keys that a slice sorts
    std::int32_t mergedLists = 0;  ///< that one block makes one of
    std::uint64_t partsAt = 0;     ///< scratch: sums of slices; lists, and those one merge on
    std::uint64_t listsAt[2] = {}; ///< bytes from its beginning
    std::uint64_t bytes = 0;       ///< of scratch
};

StatisticsPlan statisticsPlan(std::int32_t rows, std::int32_t columns, std::int32_t top,
                              std::uint64_t partBytes);

/// Lists of a row that are left when `lists` were merged once.
std::int32_t listsAfterMerge(const StatisticsPlan &plan, std::int32_t lists);

} // namespace tokenloupe::cuda
