// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/fastformats.h"

#include <cstring>
#include <utility>

// Products with several tokens, over the fast Vector type V. A few stripes of weights at a time are spread
// out to 16-bit integers, offset and integer scales included, and multiplied with all tokens as such:
// unpacking is shared, and every type has the same inner loop. A product of two columns is one 32-bit lane.

namespace tokenloupe::fastkernel {

constexpr int chunkBlocks =
    8; ///< blocks of 32 columns that are spread out at a time: they stay in the L1 cache
constexpr int chunkTokens = 96; ///< that are worked on before the next stripes
constexpr int blockWords = 16;  ///< registers of two columns each

/// Some blocks of some stripes, spread out.
template <int stripes>
struct alignas(64) SpreadWeights
{
    std::byte words[chunkBlocks][stripes][blockWords][64];
    std::byte scales[chunkBlocks][stripes][3][64]; ///< the scale, then minima
};

/// The weights of one piece as 16-bit integers, and its scale and minima.
template <class V, class F, int piece>
TOKENLOUPE_INLINE void spreadPiece(const std::byte *codes, const typename F::Scratch &scratch,
                                   std::byte (&words)[blockWords][64], std::byte (&scales)[3][64])
{
    using Words = typename V::Words;
    BlockCodes<V> block;
    F::template read<piece>(codes, block);
    Words halfScales[2];
    if constexpr (F::halves) {
        halfScales[0] = V::twice(F::template halfScale<piece, 0>(scratch));
        halfScales[1] = V::twice(F::template halfScale<piece, 1>(scratch));
    }
    TOKENLOUPE_UNROLL
    for (int j = 0; j < 8; ++j) {
        Words even = V::evenBytes(block.codes[j]);
        Words odd = V::oddBytes(block.codes[j]);
        if constexpr (F::offsetBits > 0) {
            even = V::subtractWords(even, 1 << F::offsetBits);
            odd = V::subtractWords(odd, 1 << F::offsetBits);
        }
        if constexpr (F::halves) {
            even = V::multiplyWords(even, halfScales[j / 4]);
            odd = V::multiplyWords(odd, halfScales[j / 4]);
        }
        V::storeWords(words[2 * j], even);
        V::storeWords(words[2 * j + 1], odd);
    }
    V::storeFloats(scales[0], F::template scale<piece>(scratch));
    if constexpr (F::Minima > 0)
        V::storeFloats(scales[1], F::template minimum<piece, 0>(scratch));
    if constexpr (F::Minima > 1)
        V::storeFloats(scales[2], F::template minimum<piece, 1>(scratch));
}

template <class V, class F, int stripes, int... piece>
TOKENLOUPE_INLINE void spreadPieces(std::integer_sequence<int, piece...>, const std::byte *codes,
                                    const typename F::Scratch &scratch, int block, int stripe,
                                    SpreadWeights<stripes> &out)
{
    (spreadPiece<V, F, piece>(codes, scratch, out.words[block + piece][stripe],
                              out.scales[block + piece][stripe]),
     ...);
}

/// sums[t][s] += the spread blocks of `stripes` stripes times `tokens` tokens; 16 floats each. `words` and
/// `sumsOf` are where the tokens' ActivationWords and ActivationSums of these columns begin.
template <class V, int minima, int stripes, int tokens>
void multiplySpread(const SpreadWeights<stripes> &w, int blocks, const std::byte *words,
                    const std::byte *sumsOf, std::int64_t xStride, std::byte *sums)
{
    typename V::Floats floats[tokens][stripes];
    TOKENLOUPE_UNROLL
    for (int t = 0; t < tokens; ++t) {
        TOKENLOUPE_UNROLL
        for (int s = 0; s < stripes; ++s)
            floats[t][s] = V::loadFloats(sums + (t * stripes + s) * 64);
    }
    for (int b = 0; b < blocks; ++b) {
        typename V::Ints totals[tokens][stripes];
        TOKENLOUPE_UNROLL
        for (int t = 0; t < tokens; ++t) {
            TOKENLOUPE_UNROLL
            for (int s = 0; s < stripes; ++s)
                totals[t][s] = V::zeroInts();
        }
        TOKENLOUPE_UNROLL
        for (int i = 0; i < blockWords; ++i) {
            typename V::Words weights[stripes];
            TOKENLOUPE_UNROLL
            for (int s = 0; s < stripes; ++s)
                weights[s] = V::loadWords(w.words[b][s][i]);
            TOKENLOUPE_UNROLL
            for (int t = 0; t < tokens; ++t) {
                const typename V::Words x = V::twoWords(words + t * xStride + 4 * i);
                TOKENLOUPE_UNROLL
                for (int s = 0; s < stripes; ++s)
                    totals[t][s] = V::dotWords(totals[t][s], weights[s], x);
            }
        }
        TOKENLOUPE_UNROLL
        for (int s = 0; s < stripes; ++s) {
            const typename V::Floats scale = V::loadFloats(w.scales[b][s][0]);
            TOKENLOUPE_UNROLL
            for (int t = 0; t < tokens; ++t)
                floats[t][s] = V::multiplyAdd(V::toFloat(totals[t][s]), scale, floats[t][s]);
            TOKENLOUPE_UNROLL
            for (int m = 0; m < minima; ++m) {
                const typename V::Floats minimum = V::loadFloats(w.scales[b][s][1 + m]);
                constexpr std::size_t at = minima == 1 ? offsetof(ActivationSums, whole) : 0;
                TOKENLOUPE_UNROLL
                for (int t = 0; t < tokens; ++t)
                    floats[t][s] = V::multiplyAdd(
                        V::allFloats(sumsOf + t * xStride + at + std::size_t(4 * m)), minimum, floats[t][s]);
            }
        }
        words += sizeof(ActivationWords);
        sumsOf += sizeof(ActivationSums);
    }
    TOKENLOUPE_UNROLL
    for (int t = 0; t < tokens; ++t) {
        TOKENLOUPE_UNROLL
        for (int s = 0; s < stripes; ++s)
            V::storeFloats(sums + (t * stripes + s) * 64, floats[t][s]);
    }
}

/// multiplySpread() for `count` tokens, at most `most`.
template <class V, int minima, int stripes, int most>
void multiplySpreadTokens(const SpreadWeights<stripes> &w, int blocks, const std::byte *words,
                          const std::byte *sumsOf, std::int64_t xStride, std::byte *sums, std::int64_t count)
{
    if (count == most)
        return multiplySpread<V, minima, stripes, most>(w, blocks, words, sumsOf, xStride, sums);
    if constexpr (most > 1)
        multiplySpreadTokens<V, minima, stripes, most - 1>(w, blocks, words, sumsOf, xStride, sums, count);
}

template <class V, class F>
struct WordMatmul
{
    static void run(const PackedMatrix &w, const std::byte *x, std::int64_t tokens, float *y,
                    std::int64_t yStride, std::int64_t begin, std::int64_t end)
    {
        const std::int64_t xStride = activationRowBytes(w.columns);
        for (std::int64_t t = 0; t < tokens; t += chunkTokens) {
            const std::int64_t count = tokens - t < chunkTokens ? tokens - t : chunkTokens;
            std::int64_t s = begin;
            for (; s + V::tileStripes <= end; s += V::tileStripes)
                multiply<V::tileStripes>(w, x + t * xStride, count, y + t * yStride, yStride, s);
            if constexpr (V::tileStripes > 1) {
                for (; s < end; ++s)
                    multiply<1>(w, x + t * xStride, count, y + t * yStride, yStride, s);
            }
        }
    }

private:
    template <int stripes>
    static void multiply(const PackedMatrix &w, const std::byte *x, std::int64_t tokens, float *y,
                         std::int64_t yStride, std::int64_t first)
    {
        const int blocks = int(w.columns / quantBlockValues);
        const std::int64_t xStride = activationRowBytes(w.columns);
        alignas(64) std::byte sums[chunkTokens * stripes * 64];
        std::memset(sums, 0, std::size_t(tokens) * stripes * 64);
        SpreadWeights<stripes> spread;
        for (int block = 0; block < blocks; block += chunkBlocks) {
            const int count = blocks - block < chunkBlocks ? blocks - block : chunkBlocks;
            for (int s = 0; s < stripes; ++s)
                spreadStripe(w, first + s, block, count, s, spread);
            const std::byte *words =
                x + activationWordsAt(w.columns) + block * std::ptrdiff_t(sizeof(ActivationWords));
            const std::byte *sumsOf =
                x + activationSumsAt(w.columns) + block * std::ptrdiff_t(sizeof(ActivationSums));
            for (std::int64_t t = 0; t < tokens; t += V::tileTokens) {
                const std::int64_t left = tokens - t < V::tileTokens ? tokens - t : V::tileTokens;
                multiplySpreadTokens<V, F::Minima, stripes, V::tileTokens>(spread, count, words + t * xStride,
                                                                           sumsOf + t * xStride, xStride,
                                                                           sums + t * stripes * 64, left);
            }
        }
        for (std::int64_t t = 0; t < tokens; ++t) {
            const typename V::Floats scale = V::allFloats(x + t * xStride + offsetof(ActivationRow, scale));
            for (int s = 0; s < stripes; ++s) {
                const std::int64_t row = (first + s) * stripeRows;
                const int rows = w.rows - row < stripeRows ? int(w.rows - row) : stripeRows;
                V::storePart(y + t * yStride + row,
                             V::multiply(V::loadFloats(sums + (t * stripes + s) * 64), scale), rows);
            }
        }
    }

    template <int stripes>
    static void spreadStripe(const PackedMatrix &w, std::int64_t stripe, int block, int count, int s,
                             SpreadWeights<stripes> &out)
    {
        const std::int64_t units = w.columns / (quantBlockValues * F::pieces);
        const std::int64_t scaleBytes = (units * F::scaleBytes + 63) / 64 * 64;
        const std::int64_t stripeBytes = scaleBytes + (units * F::codeBytes + 63) / 64 * 64;
        const std::byte *scales = w.data + stripe * stripeBytes + block / F::pieces * F::scaleBytes;
        const std::byte *codes =
            w.data + stripe * stripeBytes + scaleBytes + block / F::pieces * F::codeBytes;
        for (int b = 0; b < count; b += F::pieces, scales += F::scaleBytes, codes += F::codeBytes) {
            typename F::Scratch scratch;
            F::prepare(scales, codes, scratch);
            spreadPieces<V, F, stripes>(std::make_integer_sequence<int, F::pieces>(), codes, scratch, b, s,
                                        out);
        }
    }
};

} // namespace tokenloupe::fastkernel
