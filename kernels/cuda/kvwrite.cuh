// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/kvread.cuh"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

// float32 to the cache's types, thirty-two values by a warp, one a lane. Every code is the one that the CPU
// chooses (the nearest, after the scale was rounded to the stored half): only single operations that round
// once are used, and none is fused.

namespace tokenloupe::cuda {

constexpr unsigned wholeWarp = 0xFFFFFFFFU;
constexpr float largestFloat = 3.402823466e+38F;

/// Nearest even; NaN keeps its upper bits and is made quiet.
__device__ inline std::uint16_t floatToHalfBits(float value)
{
    const std::uint32_t bits = __float_as_uint(value);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
        return static_cast<std::uint16_t>((bits >> 16 & 0x8000U) | 0x7E00U | (bits >> 13 & 0x3FFU));
    return __half_as_ushort(__float2half_rn(value));
}

__device__ inline std::uint16_t floatToBfloatBits(float value)
{
    const std::uint32_t bits = __float_as_uint(value);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
        return static_cast<std::uint16_t>(bits >> 16 | 0x0040U);
    return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

/// The nearest half that is a number.
__device__ inline std::uint16_t finiteHalfBits(float value)
{
    const float limit = 65504.0F;
    return floatToHalfBits(value > limit ? limit : value < -limit ? -limit : value);
}

/// Over the warp; NaN and what lies beyond float32 on the other side count as nothing.
__device__ inline float largestOfWarp(float value)
{
    float largest = value > -largestFloat ? value : -largestFloat;
    for (int mask = 16; mask > 0; mask /= 2) {
        const float other = __shfl_xor_sync(wholeWarp, largest, mask);
        largest = other > largest ? other : largest;
    }
    return largest;
}

struct BlockRange
{
    float smallest = 0.0F;
    float largest = 0.0F;

    __device__ bool isEmpty() const { return largest < smallest; } ///< nothing but NaN
    /// Of the two ends, the one that is farther from 0; 0 when there is none.
    __device__ float extreme() const
    {
        if (isEmpty())
            return 0.0F;
        return largest >= 0.0F - smallest ? largest : smallest;
    }
};

__device__ inline BlockRange rangeOfWarp(float value)
{
    return {0.0F - largestOfWarp(0.0F - value), largestOfWarp(value)};
}

/// value / d + shift, rounded to a whole number in [0, last].
__device__ inline std::uint32_t codeOf(float value, float offset, float d, float shift, float last)
{
    // Added to a small number, this leaves it rounded to an integer in the lowest bits.
    const float rounding = 12582912.0F; // 1.5 · 2^23
    const float shifted = __fdiv_rn(value - offset, d) + shift;
    const float positive = shifted > 0.0F ? shifted : 0.0F; // 0 for NaN
    const float inRange = positive < last ? positive : last;
    return __float_as_uint(inRange + rounding) & 0xFFU;
}

/// What the warp has agreed on for a block.
struct BlockCode
{
    std::uint16_t scale = 0;
    std::uint16_t offset = 0;
    std::uint32_t code = 0; ///< of the lane's value
};

/// w = d · (q - middle), where the value of largest magnitude is -middle · d.
__device__ inline BlockCode symmetricCode(float value, float middle)
{
    const float extreme = rangeOfWarp(value).extreme();
    BlockCode block;
    block.scale = extreme == 0.0F ? std::uint16_t(0) : finiteHalfBits(__fdiv_rn(extreme, -middle));
    const float d = halfBitsToFloat(block.scale);
    block.code =
        d == 0.0F ? static_cast<std::uint32_t>(middle) : codeOf(value, 0.0F, d, middle, 2.0F * middle - 1.0F);
    return block;
}

/// w = d · q + m over [smallest, largest].
__device__ inline BlockCode offsetCode(float value, float last)
{
    const BlockRange range = rangeOfWarp(value);
    BlockCode block;
    if (!range.isEmpty() && range.smallest != 0.0F)
        block.offset = finiteHalfBits(range.smallest);
    // In two parts: the difference of two large numbers may be infinite.
    if (!range.isEmpty() && range.largest != range.smallest)
        block.scale = finiteHalfBits(__fdiv_rn(range.largest, last) - __fdiv_rn(range.smallest, last));
    const float d = halfBitsToFloat(block.scale);
    if (d != 0.0F)
        block.code = codeOf(value, halfBitsToFloat(block.offset), d, 0.0F, last);
    return block;
}

/// w = d · q, codes from -127 on: here they are still 127 too large.
__device__ inline BlockCode signedCode(float value)
{
    const float extreme = rangeOfWarp(value).extreme();
    BlockCode block;
    block.scale = finiteHalfBits(__fdiv_rn(extreme < 0.0F ? 0.0F - extreme : extreme, 127.0F));
    const float d = halfBitsToFloat(block.scale);
    block.code = d == 0.0F ? 127U : codeOf(value, 0.0F, d, 127.0F, 254.0F);
    return block;
}

__device__ inline void writeTwoBytes(std::byte *p, std::uint16_t bits)
{
    *reinterpret_cast<std::uint16_t *>(p) = bits;
}

/// The lane's value of a block. The whole warp has to take part.
__device__ inline void writeBlock(KvElement type, float value, std::byte *out)
{
    const std::uint32_t lane = threadIdx.x % 32;
    const float middle = hasFifthBits(type) ? 16.0F : 8.0F;
    const BlockCode block = type == KvElement::Q8_0 ? signedCode(value)
                            : hasOffset(type)       ? offsetCode(value, 2.0F * middle - 1.0F)
                                                    : symmetricCode(value, middle);
    const std::uint32_t fifthBits = __ballot_sync(wholeWarp, (block.code & 16U) != 0 ? 1 : 0);
    const std::uint32_t upper = __shfl_down_sync(wholeWarp, block.code, 16);
    if (lane == 0)
        writeTwoBytes(out, block.scale);
    out += 2;
    if (type == KvElement::Q8_0) {
        out[lane] = static_cast<std::byte>((block.code - 127U) & 0xFFU);
        return;
    }
    if (hasOffset(type)) {
        if (lane == 0)
            writeTwoBytes(out, block.offset);
        out += 2;
    }
    if (hasFifthBits(type)) {
        if (lane < 4)
            out[lane] = static_cast<std::byte>(fifthBits >> 8 * lane & 0xFFU);
        out += 4;
    }
    if (lane < 16)
        out[lane] = static_cast<std::byte>((block.code & 15U) | (upper & 15U) << 4);
}

/// Value `index` of a row, of lane index % 32; lanes behind the end (of plain types) have none.
__device__ inline void writeValue(KvElement type, float value, std::int32_t index, std::int32_t count,
                                  std::byte *row)
{
    if (isBlockType(type)) {
        writeBlock(type, value, row + index / kvBlockValues * kvUnitBytes(type));
    } else if (index < count) {
        if (type == KvElement::F32)
            reinterpret_cast<float *>(row)[index] = value;
        else
            writeTwoBytes(row + 2 * index,
                          type == KvElement::F16 ? floatToHalfBits(value) : floatToBfloatBits(value));
    }
}

} // namespace tokenloupe::cuda
