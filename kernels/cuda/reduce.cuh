// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <cuda_runtime.h>

// One value of each thread joined to one for all: over a warp by shuffles, over a block by one barrier more.
// The order is fixed, and every lane ends with the same bits as long as join(a, b) == join(b, a).

namespace tokenloupe::cuda {

constexpr int warpLanes = 32;
constexpr unsigned allLanes = 0xFFFFFFFFU;
constexpr int largestWarps = 32; ///< of a block

struct Add
{
    template <class T>
    __device__ T operator()(T a, T b) const
    {
        return a + b;
    }
};

/// b where a is NaN.
struct Larger
{
    template <class T>
    __device__ T operator()(T a, T b) const
    {
        return a > b ? a : b;
    }
};

/// The value of the lane whose number differs in the bits of `mask`. Types of several words offer an
/// overload.
template <class T>
__device__ inline T fromLane(T value, int mask)
{
    return __shfl_xor_sync(allLanes, value, mask);
}

/// Over groups of `lanes` neighbouring lanes (a power of two). The whole warp has to take part.
template <int lanes = warpLanes, class T, class Join>
__device__ inline T warpJoin(T value, Join join)
{
    for (int mask = lanes / 2; mask > 0; mask /= 2)
        value = join(value, fromLane(value, mask));
    return value;
}

/// Over a block of whole warps in one dimension. `slots` is shared memory for largestWarps values; before it
/// serves again a barrier has to come in between. `neutral` changes nothing that it is joined to.
template <class T, class Join>
__device__ inline T blockJoin(T value, Join join, T neutral, T *slots)
{
    const int lane = static_cast<int>(threadIdx.x) % warpLanes;
    const int warps = static_cast<int>(blockDim.x) / warpLanes;
    value = warpJoin(value, join);
    if (lane == 0)
        slots[static_cast<int>(threadIdx.x) / warpLanes] = value;
    __syncthreads();
    return warpJoin(lane < warps ? slots[lane] : neutral, join);
}

} // namespace tokenloupe::cuda
