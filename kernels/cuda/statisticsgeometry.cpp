// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/statisticsgeometry.h"

#include "kernels/cuda/rowgeometry.h"
#include "kernels/cuda/statistics.h"

#include <algorithm>

namespace tokenloupe::cuda {

namespace {

/// The smallest b with 2^b ≥ value.
std::int32_t powerBits(std::int32_t value)
{
    std::int32_t bits = 0;
    while ((1 << bits) < value)
        ++bits;
    return bits;
}

std::uint64_t aligned(std::uint64_t bytes)
{
    return ceilDivide(bytes, std::uint64_t(256)) * 256;
}

} // namespace

StatisticsPlan statisticsPlan(std::int32_t rows, std::int32_t columns, std::int32_t top,
                              std::uint64_t partBytes)
{
    StatisticsPlan plan;
    if (rows <= 0 || columns <= 0 || columns > largestColumns || top < 0 || top > largestTop)
        return plan;
    const std::int32_t slices = ceilDivide(columns, sliceColumns);
    if (slices > largestGrid / rows)
        return plan;
    plan.slices = slices;
    plan.listBits = powerBits(std::max(top, 1));
    plan.sliceBits = std::max(plan.listBits, powerBits(std::min(columns, sliceColumns)));
    plan.mergedLists = mergeKeys >> plan.listBits;
    const std::uint64_t listBytes = sizeof(std::uint64_t) << plan.listBits;
    const std::uint64_t allSlices = std::uint64_t(rows) * std::uint64_t(slices);
    const std::uint64_t mergedOnce = std::uint64_t(rows) * std::uint64_t(listsAfterMerge(plan, slices));
    plan.partsAt = 0;
    plan.listsAt[0] = aligned(allSlices * partBytes);
    plan.listsAt[1] = plan.listsAt[0] + aligned(allSlices * listBytes);
    plan.bytes = plan.listsAt[1] + aligned(mergedOnce * listBytes);
    return plan;
}

std::int32_t listsAfterMerge(const StatisticsPlan &plan, std::int32_t lists)
{
    return ceilDivide(lists, plan.mergedLists);
}

} // namespace tokenloupe::cuda
