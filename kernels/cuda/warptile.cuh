// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/productgeometry.h"

#include <cuda_runtime.h>

namespace tokenloupe::cuda {

/// 32 units of 32 float32 values of one row in shared memory, a warp's own: lanes go through device memory
/// side by side, and through the tile each along a unit of its own. Four values of a unit lie together; which
/// place they have among the unit's eight is turned with the unit's number, so that neither way of going has
/// two lanes at one bank.
struct WarpTile
{
    static constexpr int groups = unitColumns / 4; ///< of four values, in a unit

    float4 fours[warpLanes * groups];

    /// Four values `group` of unit `unit` (of the tile).
    __device__ float4 &at(int unit, int group)
    {
        return fours[unit * groups + (group ^ (unit & (groups - 1)))];
    }
};

} // namespace tokenloupe::cuda
