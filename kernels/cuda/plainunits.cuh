// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/weightunits.cuh"

// The types whose values stand alone: how 16 bytes of a row, and a single value, become float32.

namespace tokenloupe::cuda {

struct PlainF32
{
    static constexpr int values = 4; ///< in 16 bytes
    using Stored = float;
    __device__ static float decode(float stored) { return stored; }
    __device__ static void decodeWord(std::uint32_t word, float *out) { out[0] = floatOfBits(word); }
};

struct PlainF16
{
    static constexpr int values = 8;
    using Stored = std::uint16_t;
    __device__ static float decode(std::uint16_t stored) { return halfBitsToFloat(stored); }
    __device__ static void decodeWord(std::uint32_t word, float *out)
    {
        out[0] = halfBitsToFloat(word & 0xFFFFU);
        out[1] = halfBitsToFloat(word >> 16);
    }
};

struct PlainBF16
{
    static constexpr int values = 8;
    using Stored = std::uint16_t;
    __device__ static float decode(std::uint16_t stored)
    {
        return floatOfBits(static_cast<std::uint32_t>(stored) << 16);
    }
    __device__ static void decodeWord(std::uint32_t word, float *out)
    {
        out[0] = floatOfBits(word << 16);
        out[1] = floatOfBits(word & 0xFFFF0000U);
    }
};

template <class Plain>
__device__ inline void decodePlain(const uint4 &raw, float (&out)[Plain::values])
{
    constexpr int each = Plain::values / 4;
    Plain::decodeWord(raw.x, out);
    Plain::decodeWord(raw.y, out + each);
    Plain::decodeWord(raw.z, out + 2 * each);
    Plain::decodeWord(raw.w, out + 3 * each);
}

} // namespace tokenloupe::cuda
