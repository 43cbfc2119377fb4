// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/rowvalues.cuh"

#include <cuda_runtime.h>

// Rows to 15 bits (see QuantizedRows), the same bits as on the CPU: kernels/cpu/fastquantize.h.

namespace tokenloupe::cuda {

/// The bits of |value|, which are in the order of the values; NaN is the largest.
__device__ inline std::uint32_t magnitudeBits(float value)
{
    return static_cast<std::uint32_t>(__float_as_int(value)) & 0x7FFFFFFFU;
}

__device__ inline std::uint32_t largestBits(std::uint32_t bits, const Four &four)
{
    for (int k = 0; k < 4; ++k)
        bits = Larger()(bits, magnitudeBits(four.value[k]));
    return bits;
}

struct RowScale
{
    float scale = 0.0F;
    float inverse = 0.0F; ///< 0: all codes are 0
};

/// Of a row whose largest magnitude has these bits.
__device__ inline RowScale rowScale(std::uint32_t bits)
{
    const float largestCode = 16256.0F; // 127 · 128, so that the high part is at most 127
    const float smallestRow = 1e-30F;   // below it the reciprocal would be infinite
    const float largest = __int_as_float(static_cast<int>(bits));
    if (bits >= 0x7F800000U)
        return {__int_as_float(0x7FC00000), 0.0F};
    if (largest < smallestRow)
        return {};
    return {largest / largestCode, largestCode / largest};
}

/// The low bytes of four codes as one word, the first code lowest.
__device__ inline std::uint32_t lowBytes(const std::int32_t *codes)
{
    std::uint32_t word = 0;
    for (int k = 0; k < 4; ++k)
        word |= (static_cast<std::uint32_t>(codes[k]) & 0xFFU) << (8 * k);
    return word;
}

/// Rounds four columns of a row to their places in the planes. All threads of the warp call it together;
/// those at or behind the row's end pass zeros and write nothing.
__device__ inline void roundFour(const QuantizedRows &planes, std::int32_t row, std::int32_t column,
                                 const Four &four, float inverse)
{
    std::int32_t high[4];
    std::int32_t low[4];
    std::int32_t sum = 0;
    for (int k = 0; k < 4; ++k) {
        const float magic = 12582912.0F; // 1.5 · 2^23: adding it leaves the integer in the lowest bits
        const float shifted = __fadd_rn(__fmul_rn(four.value[k], inverse), magic);
        const std::int32_t code = inverse == 0.0F ? 0 : __float_as_int(shifted) - __float_as_int(magic);
        high[k] = (code + 64) >> 7;
        low[k] = code - (high[k] * 128);
        sum += code;
    }
    sum = warpJoin<4>(sum, Add());
    if (column >= planes.columns)
        return;
    const std::int64_t place = static_cast<std::int64_t>(row) * planes.columns + column;
    *reinterpret_cast<std::uint32_t *>(planes.high + place) = lowBytes(high);
    *reinterpret_cast<std::uint32_t *>(planes.low + place) = lowBytes(low);
    if (column % 16 == 0)
        planes.sums[place / 16] = sum;
}

/// Whether planes can take rows of this shape.
inline bool canRound(const QuantizedRows &planes, std::int32_t rows, std::int32_t columns)
{
    return planes.high && planes.low && planes.scales && planes.sums && planes.rows == rows &&
           planes.columns == columns && columns % 32 == 0 && isAligned(planes.high, 4) &&
           isAligned(planes.low, 4);
}

/// The foot of a kernel that computes rows: `row` yields the results, which go to `output` and to the planes,
/// as far as those are there.
template <class Threads, class Row, class Load, class Result>
__device__ void finishRow(const Row &row, std::int32_t number, std::int32_t columns, const RowPlane &output,
                          const QuantizedRows &planes, Load load, Result result)
{
    RowScale scale;
    if (planes.high) {
        std::uint32_t bits = 0;
        row.forEachResult(load, result,
                          [&](std::int32_t, const Four &four) { bits = largestBits(bits, four); });
        scale = rowScale(Threads::largest(bits));
        if (Threads::thread() == 0)
            planes.scales[number] = scale.scale;
    }
    float *out = output.data + number * output.stride;
    row.forEachResult(load, result, [&](std::int32_t column, const Four &four) {
        if (output.data)
            storeFour(out, column, columns, output.isAligned, four);
        if (planes.high)
            roundFour(planes, number, column, four, scale.inverse);
    });
}

} // namespace tokenloupe::cuda
