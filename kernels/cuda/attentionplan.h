// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/attention.h"

#include <cstddef>
#include <cuda_runtime.h>

// How attention is cut into blocks. Pure functions of the host, but for those that kernels use too.
//
// A lane is one query head of one token. Lanes whose heads share keys and values go into one block, as many
// as it has room for: heads of a group first, then tokens.

namespace tokenloupe::cuda {

constexpr std::int32_t largestAttentionHead = 512; ///< numbers of one head's key or value
constexpr std::int64_t largestGridX = 2147483647;
constexpr std::int64_t largestGridYZ = 65535;

/// One warp a head when heads are turned or stored.
constexpr std::int32_t headRowWarps = 4; ///< of a block
constexpr std::int64_t headRowBlocks(std::int64_t heads)
{
    return (heads + headRowWarps - 1) / headRowWarps;
}

/// Lanes of all (rows × heads of a group), in tiles of whole tokens, or of parts of a group where the group
/// has more heads than a tile has lanes.
struct LanePlan
{
    std::int32_t group = 1; ///< query heads that share a KV head
    std::int32_t headsOfTile = 1;
    std::int32_t headParts = 1; ///< of a group
    std::int32_t rowsOfTile = 1;
    std::int32_t rowTiles = 1;
};

/// `most`: lanes of a tile.
LanePlan planLanes(std::int32_t heads, std::int32_t kvHeads, std::int32_t rows, std::int32_t most);

/// One query head of one token.
struct Lane
{
    std::int32_t row = -1; ///< -1: there is no such lane
    std::int32_t head = 0;
    std::int32_t begin = 0; ///< positions that it sees: [begin, end)
    std::int32_t end = 0;

    __device__ bool sees(std::int32_t position) const { return position >= begin && position < end; }
};

constexpr std::int32_t decodeTilePositions = 64;
constexpr std::int32_t decodeThreads = 128;
constexpr std::int32_t largestDecodeLanes = 16;
constexpr std::int32_t decodeRowsLimit = 8; ///< of one call

struct DecodePlan
{
    LanePlan lanes;
    std::int32_t laneLimit = 1; ///< which kernel: 1, 4, 8 or 16 lanes of a block
    std::int32_t stretches = 1; ///< of the context, at most
    dim3 grid;                  ///< (stretches, KV heads, parts of groups × tiles of rows)
    std::size_t sharedBytes = 0;
};

DecodePlan planDecode(const AttentionShape &shape, const KvLayerView &view, std::int32_t rows);

/// How the positions that a batch sees are cut: stretch i is [base + i · length, base + (i + 1) · length).
struct Stretches
{
    std::int32_t base = 0;
    std::int64_t length = decodeTilePositions; ///< a tile times a power of two

    __host__ __device__ constexpr std::int64_t begin(std::int32_t stretch) const
    {
        return base + stretch * length;
    }
};

/// At most `most` stretches. They get longer with the context, so that the blocks always have about equally
/// much to do, and begin at multiples of their length: a token that comes alone is summed up like one that
/// comes with others, as long as the length is the same.
__host__ __device__ constexpr Stretches stretchesOf(std::int32_t firstPosition, std::int32_t rows,
                                                    std::int32_t window, std::int32_t most)
{
    const std::int32_t seen = window > 0 && firstPosition >= window ? firstPosition + 1 - window : 0;
    const std::int64_t end = std::int64_t(firstPosition) + rows;
    Stretches result;
    while (end - seen / result.length * result.length > result.length * most)
        result.length *= 2;
    result.base = static_cast<std::int32_t>(seen / result.length * result.length);
    return result;
}

constexpr std::int32_t prefillLanes = 64; ///< of a block
constexpr std::int32_t prefillThreads = 256;
constexpr std::int32_t tensorThreads = 128;

struct PrefillPlan
{
    LanePlan lanes;
    dim3 grid; ///< (tiles of rows, KV heads × parts of groups)
};

PrefillPlan planPrefill(const AttentionShape &shape, const KvLayerView &view, std::int32_t rows);

} // namespace tokenloupe::cuda
