// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/productgeometry.h"
#include "kernels/cuda/weightunits.cuh"

namespace tokenloupe::cuda {

/// Unit `unit` of each weight row of a group, of a matrix of `rows` rows of `units` units; rows that do not
/// exist get the weights of the last one. All loads come before the first use of one.
template <class Format>
__device__ inline void loadGroup(const WeightPlanes &planes, std::int64_t firstRow, std::int32_t rows,
                                 std::int32_t units, std::int32_t unit, WeightUnit (&weights)[groupRows])
{
    typename Format::Raw raw[groupRows];
#pragma unroll
    for (int r = 0; r < groupRows; ++r) {
        const auto row = static_cast<std::int32_t>(firstRow + r < rows ? firstRow + r : rows - 1);
        raw[r] = Format::load(planes, row * units + unit);
    }
#pragma unroll
    for (int r = 0; r < groupRows; ++r)
        Format::unpack(raw[r], weights[r]);
}

} // namespace tokenloupe::cuda
