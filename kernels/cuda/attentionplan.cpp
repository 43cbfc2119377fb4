// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/attentionplan.h"

#include "kernels/cuda/decodeblock.h"

#include <algorithm>

namespace tokenloupe::cuda {

namespace {

// Blocks of all KV heads together: several for each multiprocessor of the largest cards.
constexpr std::int32_t wantedDecodeBlocks = 1024;
constexpr std::int32_t fewestStretches = 8; ///< where the context has so many
constexpr std::int32_t mostStretches = 256;

std::int32_t quotientUp(std::int64_t a, std::int64_t b)
{
    return static_cast<std::int32_t>((a + b - 1) / b);
}

} // namespace

LanePlan planLanes(std::int32_t heads, std::int32_t kvHeads, std::int32_t rows, std::int32_t most)
{
    LanePlan plan;
    plan.group = heads / kvHeads;
    plan.headParts = quotientUp(plan.group, most);
    plan.headsOfTile = quotientUp(plan.group, plan.headParts);
    plan.rowsOfTile = std::min(std::max(most / plan.headsOfTile, 1), rows);
    plan.rowTiles = quotientUp(rows, plan.rowsOfTile);
    return plan;
}

DecodePlan planDecode(const AttentionShape &shape, const KvLayerView &view, std::int32_t rows)
{
    // Sixteen lanes of the widest heads are more shared memory than all cards have.
    const std::int32_t most =
        view.keySize > largestAttentionHead / 2 ? largestDecodeLanes / 2 : largestDecodeLanes;
    DecodePlan plan;
    plan.lanes = planLanes(shape.heads, view.kvHeads, rows, most);
    const std::int32_t used = plan.lanes.headsOfTile * plan.lanes.rowsOfTile;
    plan.laneLimit = used == 1 ? 1 : used <= 4 ? 4 : used <= 8 ? 8 : 16;
    std::int64_t reach = std::max(shape.longestContext, 1);
    if (shape.window > 0)
        reach =
            std::min<std::int64_t>(reach, std::int64_t(shape.window) + decodeRowsLimit + decodeTilePositions);
    const std::int32_t wanted =
        std::clamp(quotientUp(wantedDecodeBlocks, view.kvHeads), fewestStretches, mostStretches);
    plan.stretches = std::min(quotientUp(reach, decodeTilePositions), wanted);
    plan.grid = dim3(static_cast<unsigned int>(plan.stretches), static_cast<unsigned int>(view.kvHeads),
                     static_cast<unsigned int>(plan.lanes.headParts * plan.lanes.rowTiles));
    plan.sharedBytes = decodeSharedBytes(plan.laneLimit, view.keySize, view.valueSize,
                                         shape.keyRotation.rotated > 0 ? decodeTurnedKeys : 0);
    return plan;
}

PrefillPlan planPrefill(const AttentionShape &shape, const KvLayerView &view, std::int32_t rows)
{
    PrefillPlan plan;
    plan.lanes = planLanes(shape.heads, view.kvHeads, rows, prefillLanes);
    plan.grid = dim3(static_cast<unsigned int>(plan.lanes.rowTiles),
                     static_cast<unsigned int>(view.kvHeads * plan.lanes.headParts));
    return plan;
}

} // namespace tokenloupe::cuda
