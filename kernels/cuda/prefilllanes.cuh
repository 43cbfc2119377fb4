// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/attentionplan.h"
#include "kernels/cuda/shapedscore.cuh"
#include "kernels/cuda/turnedkeys.cuh"

// Which tokens and heads a block of attendPrefill works for, and what they see.

namespace tokenloupe::cuda {

struct PrefillCall
{
    DeviceRows queries;
    KvLayerView view;
    AttentionShape shape;
    LanePlan lanes;
    const StepState *state = nullptr;
    DeviceRows output;
};

/// The block's tile of rows. The last ones come first: they have the most to do.
__device__ inline std::int32_t rowTileOf(const PrefillCall &call)
{
    return call.lanes.rowTiles - 1 - static_cast<std::int32_t>(blockIdx.x);
}

__device__ inline std::int32_t kvHeadOf(const PrefillCall &call)
{
    return static_cast<std::int32_t>(blockIdx.y) / call.lanes.headParts;
}

__device__ inline Lane laneOf(const PrefillCall &call, std::int32_t number)
{
    const LanePlan &plan = call.lanes;
    const std::int32_t kvHead = kvHeadOf(call);
    const std::int32_t part = static_cast<std::int32_t>(blockIdx.y) - kvHead * plan.headParts;
    const std::int32_t rowOfTile = number / plan.headsOfTile;
    const std::int32_t inGroup = part * plan.headsOfTile + (number - rowOfTile * plan.headsOfTile);
    const std::int32_t row = rowTileOf(call) * plan.rowsOfTile + rowOfTile;
    Lane lane;
    if (rowOfTile >= plan.rowsOfTile || row >= call.queries.rows || inGroup >= plan.group)
        return lane;
    lane.row = row;
    lane.head = kvHead * plan.group + inGroup;
    lane.end = call.state->firstPosition + row + 1;
    lane.begin = call.shape.window > 0 ? max(0, lane.end - call.shape.window) : 0;
    return lane;
}

/// Positions that any lane of the block sees, and those that all of them do.
struct SeenSpan
{
    std::int32_t begin = 0;
    std::int32_t end = 0;
    std::int32_t commonBegin = 0;
    std::int32_t commonEnd = 0;

    /// Of [first, first + count) every position is seen by every lane.
    __device__ bool areCommon(std::int32_t first, std::int32_t count) const
    {
        return first >= commonBegin && first + count <= commonEnd;
    }
};

__device__ inline SeenSpan seenSpanOf(const PrefillCall &call)
{
    const std::int32_t firstRow = rowTileOf(call) * call.lanes.rowsOfTile;
    const std::int32_t lastRow = min(firstRow + call.lanes.rowsOfTile, call.queries.rows) - 1;
    const std::int32_t first = call.state->firstPosition + firstRow + 1;
    const std::int32_t last = call.state->firstPosition + lastRow + 1;
    const std::int32_t window = call.shape.window;
    return {window > 0 ? max(0, first - window) : 0, last, window > 0 ? max(0, last - window) : 0, first};
}

} // namespace tokenloupe::cuda
