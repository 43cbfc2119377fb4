// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/fastkernels.h"
#include "kernels/cpu/fastsuperformats.h"
#include "kernels/cpu/fastwords.h"
#include "kernels/formats/blocks.h"

#include <cstring>
#include <utility>

// Products of packed weights and quantised activations over the fast Vector type V: sixteen rows side by
// side, one lane each. A token by itself is multiplied byte by byte here, several of them as 16-bit numbers
// in fastwords.h: the integers are the same.

namespace tokenloupe::fastkernel {

/// Asks for the cache lines of `bytes` bytes a page behind `p`, into the L2 cache, where more of them may be
/// under way than in the L1 cache. Asking behind the end does no harm: stripes lie behind each other.
template <class V, int bytes>
TOKENLOUPE_INLINE void prefetchAhead(const std::byte *p)
{
    constexpr std::uintptr_t distance = 4096;
    const std::uintptr_t ahead = reinterpret_cast<std::uintptr_t>(p) + distance;
    TOKENLOUPE_UNROLL
    for (int i = 0; i < bytes; i += 64)
        __builtin_prefetch(reinterpret_cast<const void *>(ahead + std::uintptr_t(i)), 0, 2);
}

/// Σ codes · activations of the four-column groups [begin, end) of a block; the codes' offset taken off by
/// means of the sum of the activations at `activationSum`.
template <class V, class F, int begin, int end>
TOKENLOUPE_INLINE typename V::Ints dotGroups(const BlockCodes<V> &block, const std::byte *x,
                                             std::size_t activationSum)
{
    typename V::Ints low = V::zeroInts();
    typename V::Ints high = V::zeroInts();
    TOKENLOUPE_UNROLL
    for (int j = begin; j < end; ++j) {
        low = V::template dot<F::codeBits>(low, block.codes[j], x + offsetof(ActivationBlock, low) + 4 * j);
        high =
            V::template dot<F::codeBits>(high, block.codes[j], x + offsetof(ActivationBlock, high) + 4 * j);
    }
    const typename V::Ints total = V::addInts(V::template shiftLeft<7>(high), low);
    if constexpr (F::offsetBits > 0)
        return V::subtractInts(total, V::template shiftLeft<F::offsetBits>(V::allInts(x + activationSum)));
    else
        return total;
}

/// sum += one piece times the ActivationBlock at x.
template <class V, class F, int piece>
TOKENLOUPE_INLINE void addPiece(const std::byte *codes, const typename F::Scratch &scratch,
                                const std::byte *x, typename V::Floats &sum)
{
    constexpr std::size_t halfSum = offsetof(ActivationBlock, halfSum);
    BlockCodes<V> block;
    F::template read<piece>(codes, block);
    typename V::Ints total;
    if constexpr (F::halves) {
        const typename V::Ints first = dotGroups<V, F, 0, 4>(block, x, halfSum);
        const typename V::Ints second = dotGroups<V, F, 4, 8>(block, x, halfSum + 4);
        total = V::addInts(V::multiplyInts(first, F::template halfScale<piece, 0>(scratch)),
                           V::multiplyInts(second, F::template halfScale<piece, 1>(scratch)));
    } else {
        total = dotGroups<V, F, 0, 8>(block, x, offsetof(ActivationBlock, sum));
    }
    sum = V::multiplyAdd(V::toFloat(total), F::template scale<piece>(scratch), sum);
    if constexpr (F::Minima == 1) {
        sum = V::multiplyAdd(V::allFloats(x + offsetof(ActivationBlock, floatSum)),
                             F::template minimum<piece, 0>(scratch), sum);
    } else if constexpr (F::Minima == 2) {
        sum =
            V::multiplyAdd(V::toFloat(V::allInts(x + halfSum)), F::template minimum<piece, 0>(scratch), sum);
        sum = V::multiplyAdd(V::toFloat(V::allInts(x + halfSum + 4)), F::template minimum<piece, 1>(scratch),
                             sum);
    }
}

/// The share of a block's cache lines that is asked for while this piece is worked on; `block` is where the
/// blocks would begin if scales and codes were not apart.
template <class V, class F, int piece>
TOKENLOUPE_INLINE void prefetchPiece(const std::byte *block)
{
    constexpr int bytes = F::codeBytes + F::scaleBytes;
    constexpr int begin = bytes / F::pieces * piece / 64 * 64;
    constexpr int end = piece + 1 < F::pieces ? bytes / F::pieces * (piece + 1) / 64 * 64 : bytes;
    prefetchAhead<V, end - begin>(block + begin);
}

template <class V, class F, int... piece>
TOKENLOUPE_INLINE void addPieces(std::integer_sequence<int, piece...>, const std::byte *ahead,
                                 const std::byte *codes, const typename F::Scratch &scratch,
                                 const std::byte *x, typename V::Floats &sum)
{
    ((prefetchPiece<V, F, piece>(ahead),
      addPiece<V, F, piece>(codes, scratch, x + piece * std::ptrdiff_t(sizeof(ActivationBlock)), sum)),
     ...);
}

/// One stripe times one token.
template <class V, class F>
void multiplyStripe(const std::byte *stripe, std::int64_t blocks, const std::byte *x, float *y, int rows)
{
    const std::byte *scales = stripe;
    const std::byte *codes = stripe + (blocks * F::scaleBytes + 63) / 64 * 64;
    const std::byte *activations = x + sizeof(ActivationRow);
    typename V::Floats sum = V::zero();
    for (std::int64_t b = 0; b < blocks; ++b) {
        typename F::Scratch scratch;
        F::prepare(scales, codes, scratch);
        addPieces<V, F>(std::make_integer_sequence<int, F::pieces>(),
                        stripe + b * (F::codeBytes + F::scaleBytes), codes, scratch, activations, sum);
        scales += F::scaleBytes;
        codes += F::codeBytes;
        activations += F::pieces * std::ptrdiff_t(sizeof(ActivationBlock));
    }
    V::storePart(y, V::multiply(sum, V::allFloats(x + offsetof(ActivationRow, scale))), rows);
}

template <class V, class F>
struct FastMatmul
{
    static void run(const PackedMatrix &w, const std::byte *x, std::int64_t tokens, float *y,
                    std::int64_t yStride, std::int64_t begin, std::int64_t end)
    {
        if (tokens >= V::wordTokens)
            return WordMatmul<V, F>::run(w, x, tokens, y, yStride, begin, end);
        const std::int64_t blocks = w.columns / (quantBlockValues * F::pieces);
        const std::int64_t stripeBytes =
            (blocks * F::scaleBytes + 63) / 64 * 64 + (blocks * F::codeBytes + 63) / 64 * 64;
        const std::int64_t xStride = activationRowBytes(w.columns);
        for (std::int64_t s = begin; s < end; ++s) {
            const std::int64_t first = s * stripeRows;
            const int rows = w.rows - first < stripeRows ? int(w.rows - first) : stripeRows;
            for (std::int64_t t = 0; t < tokens; ++t)
                multiplyStripe<V, F>(w.data + s * stripeBytes, blocks, x + t * xStride,
                                     y + t * yStride + first, rows);
        }
    }
};

template <class V>
void matmul(const PackedMatrix &w, const std::byte *x, std::int64_t tokens, float *y, std::int64_t yStride,
            std::int64_t begin, std::int64_t end)
{
    switch (w.type) {
    case TensorType::Q4_0:
        return FastMatmul<V, PackedQ4_0<V>>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::Q4_1:
        return FastMatmul<V, PackedQ4_1<V>>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::Q5_0:
        return FastMatmul<V, PackedQ5_0<V>>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::Q5_1:
        return FastMatmul<V, PackedQ5_1<V>>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::Q8_0:
        return FastMatmul<V, PackedQ8_0<V>>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::IQ4_NL:
        return FastMatmul<V, PackedIQ4_NL<V>>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::MXFP4:
        return FastMatmul<V, PackedMXFP4<V>>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::Q2_K:
        return FastMatmul<V, PackedQ2_K<V>>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::Q3_K:
        return FastMatmul<V, PackedQ3_K<V>>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::Q4_K:
        return FastMatmul<V, PackedQ4_K<V>>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::Q5_K:
        return FastMatmul<V, PackedQ5_K<V>>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::Q6_K:
        return FastMatmul<V, PackedQ6_K<V>>::run(w, x, tokens, y, yStride, begin, end);
    case TensorType::IQ4_XS:
        return FastMatmul<V, PackedIQ4_XS<V>>::run(w, x, tokens, y, yStride, begin, end);
    default:
        return; // note: the backend packs only what isPackable()
    }
}

} // namespace tokenloupe::fastkernel
