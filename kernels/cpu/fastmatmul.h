// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/fastkernels.h"
#include "kernels/formats/blocks.h"

#include <cmath>
#include <cstring>

// Products of packed weights and quantised activations over the fast Vector type V: sixteen rows side by
// side, one lane each.
//
// note: everything is a template over V, so that the code of each instruction set has names of its own.

// Loops over an array of registers have to be unrolled, or the array lives in memory.
#ifdef __clang__
#define TOKENLOUPE_UNROLL _Pragma("unroll")
#else
#define TOKENLOUPE_UNROLL _Pragma("GCC unroll 32")
#endif

namespace tokenloupe::fastkernel {

/// A block of 16 rows × 32 columns in registers: codes[j] holds, for each row, columns 4·j … 4·j + 3.
template <class V>
struct BlockCodes
{
    typename V::Bytes codes[8];
};

template <class V>
[[gnu::always_inline]] inline void readNibbles(const std::byte *p, BlockCodes<V> &out)
{
    TOKENLOUPE_UNROLL
    for (int j = 0; j < 4; ++j) {
        const typename V::Bytes both = V::loadBytes(p + 64 * j);
        out.codes[j] = V::lowNibbles(both);
        out.codes[j + 4] = V::highNibbles(both);
    }
}

template <class V>
[[gnu::always_inline]] inline void readFiveBits(const std::byte *p, BlockCodes<V> &out)
{
    const typename V::Bytes fifth = V::loadBytes(p);
    readNibbles<V>(p + 64, out);
    out.codes[0] = V::template withFifthBit<0>(out.codes[0], fifth);
    out.codes[1] = V::template withFifthBit<1>(out.codes[1], fifth);
    out.codes[2] = V::template withFifthBit<2>(out.codes[2], fifth);
    out.codes[3] = V::template withFifthBit<3>(out.codes[3], fifth);
    out.codes[4] = V::template withFifthBit<4>(out.codes[4], fifth);
    out.codes[5] = V::template withFifthBit<5>(out.codes[5], fifth);
    out.codes[6] = V::template withFifthBit<6>(out.codes[6], fifth);
    out.codes[7] = V::template withFifthBit<7>(out.codes[7], fifth);
}

// The packed types: w = d · (code - 2^offsetBits) or w = d · code + m.

template <class V>
struct PackedQ4_0
{
    static constexpr int scales = 1;
    static constexpr int codeBytes = 256;
    static constexpr int offsetBits = 3;
    static constexpr int codeBits = 4;
    static void read(const std::byte *p, BlockCodes<V> &out) { readNibbles<V>(p, out); }
};

template <class V>
struct PackedQ4_1
{
    static constexpr int scales = 2;
    static constexpr int codeBytes = 256;
    static constexpr int offsetBits = 0;
    static constexpr int codeBits = 4;
    static void read(const std::byte *p, BlockCodes<V> &out) { readNibbles<V>(p, out); }
};

template <class V>
struct PackedQ5_0
{
    static constexpr int scales = 1;
    static constexpr int codeBytes = 320;
    static constexpr int offsetBits = 4;
    static constexpr int codeBits = 5;
    static void read(const std::byte *p, BlockCodes<V> &out) { readFiveBits<V>(p, out); }
};

template <class V>
struct PackedQ5_1
{
    static constexpr int scales = 2;
    static constexpr int codeBytes = 320;
    static constexpr int offsetBits = 0;
    static constexpr int codeBits = 5;
    static void read(const std::byte *p, BlockCodes<V> &out) { readFiveBits<V>(p, out); }
};

template <class V>
struct PackedQ8_0
{
    static constexpr int scales = 1;
    static constexpr int codeBytes = 512;
    static constexpr int offsetBits = 7;
    static constexpr int codeBits = 8;
    static void read(const std::byte *p, BlockCodes<V> &out)
    {
        TOKENLOUPE_UNROLL
        for (int j = 0; j < 8; ++j)
            out.codes[j] = V::loadBytes(p + 64 * j);
    }
};

/// Asks for the cache lines of `bytes` bytes a few KiB behind `p`: stripes lie behind each other. Asking
/// behind the end does no harm.
template <class V, int bytes>
[[gnu::always_inline]] inline void prefetchAhead(const std::byte *p)
{
    constexpr std::uintptr_t distance = 8192;
    const std::uintptr_t ahead = reinterpret_cast<std::uintptr_t>(p) + distance;
    TOKENLOUPE_UNROLL
    for (int i = 0; i < bytes; i += 64)
        __builtin_prefetch(reinterpret_cast<const void *>(ahead + std::uintptr_t(i)), 0, 3);
}

/// One stripe times `tokens` tokens.
template <class V, template <class> class Format, int tokens>
void multiplyStripe(const std::byte *stripe, std::int64_t blocks, const std::byte *x, std::int64_t xStride,
                    float *y, std::int64_t yStride, int rows)
{
    using F = Format<V>;
    using Floats = typename V::Floats;
    using Ints = typename V::Ints;
    constexpr int scaleBytes = F::scales * 2 * stripeRows;
    const std::byte *scales = stripe;
    const std::byte *codes = stripe + (blocks * scaleBytes + 63) / 64 * 64;
    const std::byte *activations = x + sizeof(ActivationRow);

    Floats sums[tokens];
    TOKENLOUPE_UNROLL
    for (int t = 0; t < tokens; ++t)
        sums[t] = V::zero();
    for (std::int64_t b = 0; b < blocks; ++b) {
        if constexpr (tokens == 1)
            prefetchAhead<V, F::codeBytes + scaleBytes>(stripe + b * (F::codeBytes + scaleBytes));
        BlockCodes<V> block;
        F::read(codes, block);
        const Floats d = V::loadHalf(scales);
        // The sums of one token wait for each other, those of several do not.
        constexpr int group = tokens % 4 == 0 ? 4 : 1;
        TOKENLOUPE_UNROLL
        for (int first = 0; first < tokens; first += group) {
            const std::byte *xs = activations + first * xStride;
            Ints low[group];
            Ints high[group];
            TOKENLOUPE_UNROLL
            for (int t = 0; t < group; ++t)
                low[t] = high[t] = V::zeroInts();
            TOKENLOUPE_UNROLL
            for (int j = 0; j < 8; ++j) {
                TOKENLOUPE_UNROLL
                for (int t = 0; t < group; ++t) {
                    const std::byte *x4 = xs + t * xStride + 4 * j;
                    low[t] = V::template dot<F::codeBits>(low[t], block.codes[j],
                                                          x4 + offsetof(ActivationBlock, low));
                    high[t] = V::template dot<F::codeBits>(high[t], block.codes[j],
                                                           x4 + offsetof(ActivationBlock, high));
                }
            }
            TOKENLOUPE_UNROLL
            for (int t = 0; t < group; ++t) {
                const std::byte *sumsOf = xs + t * xStride;
                Ints total = V::addInts(V::template shiftLeft<7>(high[t]), low[t]);
                if constexpr (F::offsetBits > 0)
                    total = V::subtractInts(total, V::template shiftLeft<F::offsetBits>(
                                                       V::allInts(sumsOf + offsetof(ActivationBlock, sum))));
                Floats &sum = sums[first + t];
                sum = V::multiplyAdd(V::toFloat(total), d, sum);
                if constexpr (F::scales == 2)
                    sum = V::multiplyAdd(V::allFloats(sumsOf + offsetof(ActivationBlock, floatSum)),
                                         V::loadHalf(scales + 2 * stripeRows), sum);
            }
        }
        scales += scaleBytes;
        codes += F::codeBytes;
        activations += sizeof(ActivationBlock);
    }
    for (int t = 0; t < tokens; ++t) {
        const Floats result =
            V::multiply(sums[t], V::allFloats(x + t * xStride + offsetof(ActivationRow, scale)));
        V::storePart(y + t * yStride, result, rows);
    }
}

template <class V, template <class> class Format>
struct FastMatmul
{
    static void run(const PackedMatrix &w, const std::byte *x, std::int64_t tokens, float *y,
                    std::int64_t yStride, std::int64_t begin, std::int64_t end)
    {
        using F = Format<V>;
        const std::int64_t blocks = w.columns / quantBlockValues;
        const std::int64_t scaleBytes = (blocks * F::scales * 2 * stripeRows + 63) / 64 * 64;
        const std::int64_t stripeBytes = scaleBytes + blocks * F::codeBytes;
        const std::int64_t xStride = activationRowBytes(w.columns);
        constexpr int step = V::tokens;
        for (std::int64_t s = begin; s < end; ++s) {
            const std::byte *stripe = w.data + s * stripeBytes;
            const std::int64_t first = s * stripeRows;
            const int rows = w.rows - first < stripeRows ? int(w.rows - first) : stripeRows;
            std::int64_t t = 0;
            for (; t + step <= tokens; t += step)
                multiplyStripe<V, Format, step>(stripe, blocks, x + t * xStride, xStride,
                                                y + t * yStride + first, yStride, rows);
            for (; t < tokens; ++t)
                multiplyStripe<V, Format, 1>(stripe, blocks, x + t * xStride, xStride,
                                             y + t * yStride + first, yStride, rows);
        }
    }
};

template <class V>
void matmul(const PackedMatrix &w, const std::byte *x, std::int64_t tokens, float *y, std::int64_t yStride,
            std::int64_t begin, std::int64_t end)
{
    switch (w.type) {
    case TensorType::Q4_0:
        return FastMatmul<V, PackedQ4_0>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::Q4_1:
        return FastMatmul<V, PackedQ4_1>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::Q5_0:
        return FastMatmul<V, PackedQ5_0>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::Q5_1:
        return FastMatmul<V, PackedQ5_1>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::Q8_0:
        return FastMatmul<V, PackedQ8_0>::run(w, x, tokens, y, yStride, begin, end);
    default:
        return; // note: the backend packs only what isPackable()
    }
}

} // namespace tokenloupe::fastkernel
