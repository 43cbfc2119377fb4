// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/formats/blocks.h"
#include "kernels/formats/tensortype.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

// float32 to the stored types, over the Vector type V. Each code is the one whose value, as it will be read
// back, is nearest: scales are rounded to the stored half before codes are chosen. Only single operations
// that round once are used, and none is fused, so every instruction set gives the same bytes.

namespace tokenloupe::kernel {

/// The thirty-two values of a block and what their scale is made from. NaN counts as nothing.
template <class V>
struct BlockValues
{
    explicit BlockValues(const float *x)
        : low(V::load(x))
        , high(V::load(x + 16))
    {}

    float largest() const { return V::largest(V::larger(high, V::larger(low, V::all(-floatLimit)))); }
    float smallest() const
    {
        const typename V::Reg zero = V::zero();
        return 0.0F - V::largest(V::subtract(zero, V::smaller(high, V::smaller(low, V::all(floatLimit)))));
    }

    /// value / d + shift of each, rounded to a whole number in [0, last], as bytes.
    void codes(float d, float offset, float shift, float last, std::uint8_t *out) const
    {
        // Added to a small number, this leaves it rounded to an integer in the lowest bits.
        const float rounding = 12582912.0F; // 1.5 · 2^23
        alignas(64) float rounded[quantBlockValues];
        for (int half = 0; half < 2; ++half) {
            const typename V::Reg relative =
                V::divide(V::subtract(half == 0 ? low : high, V::all(offset)), V::all(d));
            const typename V::Reg shifted = V::add(relative, V::all(shift));
            // note: in this order NaN becomes 0.
            const typename V::Reg inRange = V::smaller(V::larger(shifted, V::zero()), V::all(last));
            V::store(rounded + 16 * half, V::add(inRange, V::all(rounding)));
        }
        for (int i = 0; i < quantBlockValues; ++i)
            out[i] = std::uint8_t(floatBits(rounded[i]) & 0xFFU);
    }

    static constexpr float floatLimit = 3.402823466e+38F;
    typename V::Reg low;
    typename V::Reg high;
};

/// The nearest half that is a number.
template <class V>
std::uint16_t finiteHalf(float value)
{
    const float limit = 65504.0F;
    return floatToHalf(value > limit ? limit : value < -limit ? -limit : value);
}

/// Of values in [smallest, largest], the one that is farther from 0; 0 when there is none.
template <class V>
float extremeOf(const BlockValues<V> &values)
{
    const float smallest = values.smallest();
    const float largest = values.largest();
    if (largest < smallest)
        return 0.0F;
    return largest >= 0.0F - smallest ? largest : smallest;
}

template <class V>
void packNibbles(const std::uint8_t *codes, std::uint8_t *q)
{
    for (int i = 0; i < quantBlockValues / 2; ++i)
        q[i] = std::uint8_t((codes[i] & 15U) | std::uint32_t(codes[i + quantBlockValues / 2] & 15U) << 4);
}

template <class V>
void packFifthBits(const std::uint8_t *codes, std::uint8_t *high)
{
    for (int byte = 0; byte < 4; ++byte) {
        std::uint32_t bits = 0;
        for (int i = 0; i < 8; ++i)
            bits |= std::uint32_t(codes[8 * byte + i] >> 4) << i;
        high[byte] = std::uint8_t(bits);
    }
}

/// Codes of w = d · (q - middle), where the value of largest magnitude is -middle · d.
template <class V>
std::uint16_t symmetricCodes(const float *x, float middle, std::uint8_t *codes)
{
    const BlockValues<V> values(x);
    const float extreme = extremeOf(values);
    const std::uint16_t half = extreme == 0.0F ? std::uint16_t(0) : finiteHalf<V>(extreme / -middle);
    const float d = halfToFloat(half);
    if (d == 0.0F)
        std::memset(codes, int(middle), quantBlockValues);
    else
        values.codes(d, 0.0F, middle, 2.0F * middle - 1.0F, codes);
    return half;
}

/// Codes of w = d · q + m over [smallest, largest].
template <class V>
std::uint16_t offsetCodes(const float *x, float last, std::uint8_t *codes, std::uint16_t *offset)
{
    const BlockValues<V> values(x);
    const float smallest = values.smallest();
    const float largest = values.largest();
    const bool isEmpty = largest < smallest; // nothing but NaN
    *offset = isEmpty || smallest == 0.0F ? std::uint16_t(0) : finiteHalf<V>(smallest);
    const float m = halfToFloat(*offset);
    // In two parts: the difference of two large numbers may be infinite.
    const std::uint16_t half =
        isEmpty || largest == smallest ? std::uint16_t(0) : finiteHalf<V>(largest / last - smallest / last);
    const float d = halfToFloat(half);
    if (d == 0.0F)
        std::memset(codes, 0, quantBlockValues);
    else
        values.codes(d, m, 0.0F, last, codes);
    return half;
}

template <class V>
struct QuantizeBlock
{
    static void run(const float *x, BlockQ4_0 &block)
    {
        std::uint8_t codes[quantBlockValues];
        block.d = symmetricCodes<V>(x, 8.0F, codes);
        packNibbles<V>(codes, block.q);
    }
    static void run(const float *x, BlockQ4_1 &block)
    {
        std::uint8_t codes[quantBlockValues];
        block.d = offsetCodes<V>(x, 15.0F, codes, &block.m);
        packNibbles<V>(codes, block.q);
    }
    static void run(const float *x, BlockQ5_0 &block)
    {
        std::uint8_t codes[quantBlockValues];
        block.d = symmetricCodes<V>(x, 16.0F, codes);
        packFifthBits<V>(codes, block.high);
        packNibbles<V>(codes, block.q);
    }
    static void run(const float *x, BlockQ5_1 &block)
    {
        std::uint8_t codes[quantBlockValues];
        block.d = offsetCodes<V>(x, 31.0F, codes, &block.m);
        packFifthBits<V>(codes, block.high);
        packNibbles<V>(codes, block.q);
    }
    static void run(const float *x, BlockQ8_0 &block)
    {
        const BlockValues<V> values(x);
        const float extreme = extremeOf(values);
        const float magnitude = extreme < 0.0F ? 0.0F - extreme : extreme;
        block.d = finiteHalf<V>(magnitude / 127.0F);
        const float d = halfToFloat(block.d);
        std::uint8_t codes[quantBlockValues];
        if (d == 0.0F)
            std::memset(codes, 127, sizeof codes);
        else
            values.codes(d, 0.0F, 127.0F, 254.0F, codes);
        for (int i = 0; i < quantBlockValues; ++i)
            block.q[i] = std::int8_t(int(codes[i]) - 127);
    }
};

template <class V, class Block>
void quantizeBlocks(const float *x, std::int64_t n, std::byte *out)
{
    for (std::int64_t i = 0; i + quantBlockValues <= n; i += quantBlockValues, out += sizeof(Block)) {
        Block block;
        QuantizeBlock<V>::run(x + i, block);
        std::memcpy(out, &block, sizeof block);
    }
}

template <class V>
void quantizeHalves(const float *x, std::int64_t n, std::byte *out)
{
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        V::storeHalf(reinterpret_cast<std::uint16_t *>(out) + i, V::load(x + i));
    if (i < n)
        V::storeHalfPart(reinterpret_cast<std::uint16_t *>(out) + i, V::loadPart(x + i, int(n - i)),
                         int(n - i));
}

template <class V>
void quantizeBfloats(const float *x, std::int64_t n, std::byte *out)
{
    for (std::int64_t i = 0; i < n; ++i) {
        const std::uint16_t bfloat = floatToBfloat(x[i]);
        std::memcpy(out + i * std::int64_t(sizeof bfloat), &bfloat, sizeof bfloat);
    }
}

template <class V>
void quantizeRow(TensorType type, const float *x, std::int64_t n, std::byte *out)
{
    switch (type) {
    case TensorType::F32:
        std::memcpy(out, x, std::size_t(n) * sizeof(float));
        return;
    case TensorType::F16:
        return quantizeHalves<V>(x, n, out);
    case TensorType::BF16:
        return quantizeBfloats<V>(x, n, out);
    case TensorType::Q4_0:
        return quantizeBlocks<V, BlockQ4_0>(x, n, out);
    case TensorType::Q4_1:
        return quantizeBlocks<V, BlockQ4_1>(x, n, out);
    case TensorType::Q5_0:
        return quantizeBlocks<V, BlockQ5_0>(x, n, out);
    case TensorType::Q5_1:
        return quantizeBlocks<V, BlockQ5_1>(x, n, out);
    case TensorType::Q8_0:
        return quantizeBlocks<V, BlockQ8_0>(x, n, out);
    default:
        return; // note: KvType has no others
    }
}

} // namespace tokenloupe::kernel
