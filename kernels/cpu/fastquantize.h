// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/packedformat.h"
#include "kernels/formats/blocks.h"

#include <cstdint>
#include <cstring>

// Activations to integers, over the fast Vector type V.

namespace tokenloupe::fastkernel {

/// The largest integer: 127 · 128, so that the high part is at most 127.
constexpr float largestCode = 16256.0F;
/// Rows whose largest value is below this are taken for zero: the reciprocal would be infinite.
constexpr float smallestRow = 1e-30F;

/// Scale and its reciprocal for a row whose largest magnitude has these bits. A row with a NaN or an infinity
/// in it becomes NaN as a whole.
template <class V>
void rowScale(std::uint32_t largestBits, float *scale, float *inverse)
{
    const float largest = bitsToFloat(largestBits);
    *scale = largest / largestCode;
    *inverse = largestCode / largest;
    if (largestBits >= 0x7F800000U) {
        *scale = bitsToFloat(0x7FC00000U);
        *inverse = 0.0F;
    } else if (largest < smallestRow) {
        *scale = 0.0F;
        *inverse = 0.0F;
    }
}

template <class V>
void quantizeBlock(const float *x, typename V::Floats inverse, std::byte *blockOut, std::byte *wordsOut,
                   std::byte *sumsOut)
{
    using Ints = typename V::Ints;
    ActivationBlock block;
    ActivationWords words;
    for (int half = 0; half < 2; ++half) {
        // note: NaN times the zero that stands for such rows gives some integer; the row's scale is NaN.
        const Ints value = V::round(V::multiply(V::load(x + 16 * half), inverse));
        const Ints high = V::template shiftRight<7>(V::addInts(value, V::allOf(64)));
        const Ints low = V::subtractInts(value, V::template shiftLeft<7>(high));
        V::storeBytes(block.low + 16 * half, low);
        V::storeBytes(block.high + 16 * half, high);
        V::storeShuffled(words.value + 16 * half, value);
        block.halfSum[half] = V::sum(value);
    }
    block.sum = block.halfSum[0] + block.halfSum[1];
    block.floatSum = float(block.sum);
    const ActivationSums sums{{float(block.halfSum[0]), float(block.halfSum[1])}, block.floatSum, 0.0F};
    std::memcpy(blockOut, &block, sizeof block);
    std::memcpy(wordsOut, &words, sizeof words);
    std::memcpy(sumsOut, &sums, sizeof sums);
}

template <class V>
void quantizeRow(const float *x, std::int64_t n, std::byte *out)
{
    typename V::Ints largest = V::zeroInts();
    for (std::int64_t i = 0; i < n; i += 16)
        largest = V::largerInts(largest, V::magnitudeBits(V::load(x + i)));
    ActivationRow row = {};
    float inverse = 0.0F;
    rowScale<V>(std::uint32_t(V::largest(largest)), &row.scale, &inverse);
    std::memcpy(out, &row, sizeof row);
    std::byte *blocks = out + sizeof row;
    std::byte *words = out + activationWordsAt(n);
    std::byte *sums = out + activationSumsAt(n);
    const typename V::Floats inverses = V::all(inverse);
    for (std::int64_t b = 0; b < n / quantBlockValues; ++b)
        quantizeBlock<V>(x + b * quantBlockValues, inverses,
                         blocks + b * std::ptrdiff_t(sizeof(ActivationBlock)),
                         words + b * std::ptrdiff_t(sizeof(ActivationWords)),
                         sums + b * std::ptrdiff_t(sizeof(ActivationSums)));
}

} // namespace tokenloupe::fastkernel
