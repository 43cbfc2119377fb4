// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/launch.h"
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

template <class Format>
constexpr PlaneShape shapeOfFormat = planeShapeOf(Format::type);

/// The same on its way before the kernels in front have ended: see bringCloser().
template <class Format>
__device__ inline void bringGroupCloser(const WeightPlanes &planes, std::int64_t firstRow, std::int32_t rows,
                                        std::int32_t units, std::int32_t unit)
{
    constexpr std::int32_t codes = shapeOfFormat<Format>.codes / superUnits;
    constexpr std::int32_t extra = shapeOfFormat<Format>.extra / superUnits;
    constexpr std::int32_t scales = shapeOfFormat<Format>.scales / superUnits;
    if (firstRow >= rows || unit >= units)
        return;
#pragma unroll
    for (int r = 0; r < groupRows; ++r) {
        const std::int64_t place = (firstRow + r < rows ? firstRow + r : rows - 1) * units + unit;
        bringCloser(planes.codes + place * codes);
        if (extra > 0)
            bringCloser(planes.extra + place * extra);
        if (scales > 0)
            bringCloser(planes.scales + place * scales);
    }
}

} // namespace tokenloupe::cuda
