// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/productgeometry.h"

#include <cuda_runtime.h>

namespace tokenloupe::cuda {

constexpr unsigned allLanes = 0xFFFFFFFFU;

/// Sums each of `count` (a power of two, at most 32) values over the 32 lanes; a lane returns the sum of
/// value lane / (32 / count). In each step lanes that are still alike give away half of their values, so that
/// 4 values take 6 shuffles instead of 20. The tree of additions is the same for every count.
template <int count>
__device__ inline float sumOverLanes(float (&values)[count], unsigned lane)
{
    int left = count;
#pragma unroll
    for (unsigned mask = 16; mask > 0; mask /= 2) {
        if (left > 1) {
            left /= 2;
            const bool isUpper = (lane & mask) != 0;
#pragma unroll
            for (int i = 0; i < count / 2; ++i) {
                if (i < left) {
                    const float given = isUpper ? values[i] : values[i + left];
                    const float kept = isUpper ? values[i + left] : values[i];
                    values[i] = kept + __shfl_xor_sync(allLanes, given, static_cast<int>(mask));
                }
            }
        } else {
            values[0] += __shfl_xor_sync(allLanes, values[0], static_cast<int>(mask));
        }
    }
    return values[0];
}

/// Which warp of which group a thread belongs to.
struct ProductPlace
{
    std::int32_t warp;     ///< of the block
    std::int32_t lane;     ///< of the warp
    std::int32_t part;     ///< which of the warps that share the group
    std::int64_t firstRow; ///< of the group

    /// `block`: of those of the matrix.
    __device__ ProductPlace(std::int32_t block, std::int32_t splitShift)
        : warp(static_cast<std::int32_t>(threadIdx.x) / warpLanes)
        , lane(static_cast<std::int32_t>(threadIdx.x) % warpLanes)
        , part(warp & ((1 << splitShift) - 1))
        , firstRow((static_cast<std::int64_t>(block) * (productWarps >> splitShift) + (warp >> splitShift)) *
                   groupRows)
    {}
};

/// Lane sums → sums of the group. Value i is whole, and true is returned, in the first lane of those with
/// lane / (32 / count) = i of the group's first warp. All threads of the block must call. `scratch` is the
/// block's.
template <int count>
struct ProductScratch
{
    float sums[productWarps][count];
};

template <int count>
__device__ inline bool finishSums(float (&values)[count], const ProductPlace &place, std::int32_t splitShift,
                                  ProductScratch<count> &scratch, float &sum)
{
    constexpr int lanesEach = warpLanes / count;
    sum = sumOverLanes(values, static_cast<unsigned>(place.lane));
    const bool isWriter = place.lane % lanesEach == 0;
    if (splitShift == 0)
        return isWriter;
    if (isWriter)
        scratch.sums[place.warp][place.lane / lanesEach] = sum;
    __syncthreads();
    if (!isWriter || place.part != 0)
        return false;
    for (int part = 1; part < 1 << splitShift; ++part)
        sum += scratch.sums[place.warp + part][place.lane / lanesEach];
    return true;
}

} // namespace tokenloupe::cuda
