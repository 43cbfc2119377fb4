// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/attentionplan.h"

#include <cstddef>
#include <cstdint>

// What a block of attendDecode keeps in shared memory.

namespace tokenloupe::cuda {

constexpr std::int32_t decodeTurnedKeys =
    16; ///< keys that are turned at a time where they are stored unturned

/// Columns of values that a thread sums up. The same for all numbers of lanes: so a lane's sums are added in
/// the same order whatever other lanes there are.
constexpr std::int32_t decodeColumns = 4;

/// Behind it: queries (lanes × keySize) and turned keys (decodeTurnedKeys × keySize), and in the end in the
/// same place the sums of all threads.
template <int lanes>
struct alignas(16) DecodeBlock
{
    /// Rows of weights are filled up, so that neighbours lie in different banks.
    static constexpr int weightStride = lanes < 8 ? lanes : lanes + 4;

    std::int64_t keys[decodeTilePositions]; ///< bytes from the plane to the row of each position
    std::int64_t values[decodeTilePositions];
    float weights[decodeTilePositions * weightStride]; ///< scores at first: [position][lane]
    float factor[lanes];                               ///< of what was summed up before this tile
    float maximum[lanes];
    float total[lanes];
    std::int32_t begin[lanes]; ///< positions that the lane sees; [0, 0) where there is no such lane
    std::int32_t end[lanes];
    std::int32_t head[lanes];
    std::int32_t row[lanes];
};

/// Threads that share the columns of a position's values, and how many positions are worked on at once.
struct ValueSplit
{
    std::int32_t pieces = 1; ///< of decodeColumns each
    std::int32_t turns = 1;
};

__host__ __device__ constexpr ValueSplit splitValues(std::int32_t valueSize)
{
    const std::int32_t pieces = (valueSize + decodeColumns - 1) / decodeColumns;
    return {pieces, decodeThreads / pieces};
}

constexpr std::size_t decodeBlockBytes(std::int32_t lanes)
{
    return lanes == 1   ? sizeof(DecodeBlock<1>)
           : lanes == 4 ? sizeof(DecodeBlock<4>)
           : lanes == 8 ? sizeof(DecodeBlock<8>)
                        : sizeof(DecodeBlock<16>);
}

constexpr std::size_t decodeSharedBytes(std::int32_t lanes, std::int32_t keySize, std::int32_t valueSize,
                                        std::int32_t turnedKeys)
{
    const std::int64_t before = (std::int64_t(lanes) + turnedKeys) * keySize;
    const std::int64_t sums = std::int64_t(splitValues(valueSize).turns) * lanes * valueSize;
    return decodeBlockBytes(lanes) + sizeof(float) * static_cast<std::size_t>(before > sums ? before : sums);
}

} // namespace tokenloupe::cuda
