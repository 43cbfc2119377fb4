// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/attention.h"

#include <cmath>
#include <cuda_runtime.h>

// By how much a position turns a pair of values, in float32 operations alone.

namespace tokenloupe::cuda {

struct Turn
{
    float cosine = 1.0F;
    float sine = 0.0F;
};

/// Cosine and sine of position · frequency, 3e-7 off at most below 2^20 positions. The angle is kept as a sum
/// of two numbers, as one has no bits left behind the point at long contexts.
__device__ inline Turn turnOf(std::int32_t position, float frequency, float magnitude)
{
    const float at = static_cast<float>(position); // exact below 2^24
    const float angle = at * frequency;
    const float rest = fmaf(at, frequency, -angle);
    // π/2 in three parts; quarter turns are taken off until less than half of one is left.
    const float quarters = rintf(angle * 0.636619772F);
    float x = fmaf(quarters, -1.57079637F, angle);
    x = fmaf(quarters, 4.37113883e-8F, x);
    x = fmaf(quarters, 1.71512363e-15F, x) + rest;
    // The series up to what float32 no longer sees for |x| ≤ π/4.
    const float square = x * x;
    float sine = fmaf(square, 1.0F / 362880.0F, -1.0F / 5040.0F);
    sine = fmaf(square, sine, 1.0F / 120.0F);
    sine = fmaf(square, sine, -1.0F / 6.0F);
    sine = fmaf(square * x, sine, x);
    float cosine = fmaf(square, -1.0F / 3628800.0F, 1.0F / 40320.0F);
    cosine = fmaf(square, cosine, -1.0F / 720.0F);
    cosine = fmaf(square, cosine, 1.0F / 24.0F);
    cosine = fmaf(square, cosine, -0.5F);
    cosine = fmaf(square, cosine, 1.0F);
    const std::int32_t quadrant = static_cast<std::int32_t>(quarters) & 3;
    const float c = (quadrant & 1) != 0 ? sine : cosine;
    const float s = (quadrant & 1) != 0 ? cosine : sine;
    return {magnitude * (quadrant == 1 || quadrant == 2 ? -c : c), magnitude * (quadrant >= 2 ? -s : s)};
}

/// The values of a turned pair (x, y).
__device__ inline float turnedFirst(float x, float y, Turn turn)
{
    return fmaf(x, turn.cosine, -(y * turn.sine));
}
__device__ inline float turnedSecond(float x, float y, Turn turn)
{
    return fmaf(y, turn.cosine, x * turn.sine);
}

/// Which pair value `index` (below rotated) of a head belongs to, whether it is the pair's second, and where
/// the other one is.
struct PairPlace
{
    std::int32_t pair = 0;
    std::int32_t other = 0;
    std::int32_t isSecond = 0;
};

__device__ inline PairPlace pairOf(const RotaryParams &rotary, std::int32_t index)
{
    if (rotary.pairs == RotaryPairs::Neighbours)
        return {index / 2, index ^ 1, index & 1};
    const std::int32_t half = rotary.rotated / 2;
    return index < half ? PairPlace{index, index + half, 0} : PairPlace{index - half, index - half, 1};
}

/// Value `index` of a head after its turn, of itself and the other of its pair.
__device__ inline float turned(const RotaryParams &rotary, PairPlace place, std::int32_t position, float own,
                               float other)
{
    const Turn turn = turnOf(position, rotary.inverseFrequencies[place.pair], rotary.magnitude);
    return place.isSecond != 0 ? turnedSecond(other, own, turn) : turnedFirst(own, other, turn);
}

} // namespace tokenloupe::cuda
