// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/kvread.cuh"
#include "kernels/cuda/rotaryturn.cuh"

// Keys that are stored before their rotation, turned to their position as they are read.

namespace tokenloupe::cuda {

/// One value of a row, read with its neighbours: for rotations whose pairs lie in no piece of eight.
__device__ inline float readOne(KvElement type, const std::byte *row, std::int32_t index)
{
    float piece[8];
    readEight(type, row, index / 8 * 8, piece);
    float value = piece[0];
#pragma unroll
    for (int i = 1; i < 8; ++i)
        value = index % 8 == i ? piece[i] : value;
    return value;
}

/// readEight() of a key at `position`.
__device__ inline void readTurnedEight(KvElement type, const std::byte *row, std::int32_t first,
                                       const RotaryParams &rotary, std::int32_t position, float (&out)[8])
{
    readEight(type, row, first, out);
    if (first >= rotary.rotated)
        return;
    float other[8];
    const std::int32_t half = rotary.rotated / 2;
    if (rotary.pairs == RotaryPairs::Neighbours) {
#pragma unroll
        for (int i = 0; i < 8; ++i)
            other[i] = out[i ^ 1];
    } else if (half % 8 == 0) {
        readEight(type, row, first < half ? first + half : first - half, other);
    } else {
#pragma unroll
        for (int i = 0; i < 8; ++i)
            other[i] =
                first + i < rotary.rotated ? readOne(type, row, pairOf(rotary, first + i).other) : 0.0F;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        if (first + i < rotary.rotated)
            out[i] = turned(rotary, pairOf(rotary, first + i), position, out[i], other[i]);
    }
}

/// Either of the two, as the cache needs it.
__device__ inline void readKeyEight(const KvLayerView &view, const RotaryParams &rotary, const std::byte *row,
                                    std::int32_t first, std::int32_t position, float (&out)[8])
{
    if (rotary.rotated > 0)
        readTurnedEight(view.keyType, row, first, rotary, position, out);
    else
        readEight(view.keyType, row, first, out);
}

} // namespace tokenloupe::cuda
