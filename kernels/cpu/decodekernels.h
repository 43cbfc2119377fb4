// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/weightformats.h"

// Matrix-vector products of a few rows over the Vector type V: weights go from memory to registers to sums.

// Loops over an array of registers have to be unrolled, or the array lives in memory.
#ifdef __clang__
#define TOKENLOUPE_UNROLL _Pragma("unroll")
#else
#define TOKENLOUPE_UNROLL _Pragma("GCC unroll 32")
#endif

namespace tokenloupe::kernel {

/// Rows that are worked on together are one stretch of memory, but the processor sees several streams and
/// falls behind. So the cache lines of the next such rows are asked for one after the other, a few KiB ahead
/// at least. Asking behind the end of the matrix does no harm.
[[gnu::always_inline]] inline std::int64_t prefetchDistance(std::int64_t bytesTogether)
{
    return bytesTogether < 4096 ? 4096 : bytesTogether;
}

/// Asks for the cache lines of `bytes` bytes `distance` behind `p`.
template <class V, int bytes>
[[gnu::always_inline]] inline void prefetchAhead(const std::byte *p, std::int64_t distance)
{
    const std::uintptr_t ahead = reinterpret_cast<std::uintptr_t>(p) + std::uintptr_t(distance);
    TOKENLOUPE_UNROLL
    for (int i = 0; i < bytes; i += 64)
        __builtin_prefetch(reinterpret_cast<const void *>(ahead + std::uintptr_t(i)), 0, 2);
}

/// Sums of `count` accumulators.
template <class V, int count>
void sumAll(const typename V::Reg *sums, float *out)
{
    constexpr int fours = count / 4 * 4;
    for (int i = 0; i < fours; i += 4)
        V::sumFour(sums + i, out + i);
    for (int i = fours; i < count; ++i)
        out[i] = V::sum(sums[i]);
}

/// y[0 … rows) = W · x for one token, `rows` rows side by side so that their chains of additions overlap.
template <class V, template <class> class Format, int rows>
struct PlainDecode
{
    static void run(const std::byte *w, std::int64_t rowBytes, const float *x, std::int64_t columns, float *y)
    {
        using F = Format<V>;
        typename V::Reg sums[rows];
        for (int r = 0; r < rows; ++r)
            sums[r] = V::zero();
        const std::int64_t distance = prefetchDistance(rows * rowBytes);
        std::int64_t c = 0;
        for (; c + 16 <= columns; c += 16) {
            prefetchAhead<V, 16 * F::valueBytes * rows>(w + c * F::valueBytes * rows, distance);
            const typename V::Reg xs = V::load(x + c);
            for (int r = 0; r < rows; ++r)
                sums[r] = V::multiplyAdd(F::read(w + r * rowBytes + c * F::valueBytes), xs, sums[r]);
        }
        if (const int rest = int(columns - c); rest > 0) {
            const typename V::Reg xs = V::loadPart(x + c, rest);
            for (int r = 0; r < rows; ++r)
                sums[r] =
                    V::multiplyAdd(F::readPart(w + r * rowBytes + c * F::valueBytes, rest), xs, sums[r]);
        }
        sumAll<V, rows>(sums, y);
    }
};

template <class V, template <class> class Format, int rows>
struct QuantDecode
{
    static void run(const std::byte *w, std::int64_t rowBytes, const float *x, std::int64_t columns, float *y)
    {
        using F = Format<V>;
        constexpr int blockBytes = int(sizeof(typename F::Block));
        typename V::Reg sums[rows];
        for (int r = 0; r < rows; ++r)
            sums[r] = V::zero();
        const std::int64_t distance = prefetchDistance(rows * rowBytes);
        alignas(64) float scales[rows][scaleBatch * F::scaleCount];
        const std::int64_t blocks = columns / quantBlockValues;
        for (std::int64_t first = 0; first < blocks; first += scaleBatch) {
            const int count = blocks - first < scaleBatch ? int(blocks - first) : scaleBatch;
            const std::byte *batch = w + first * blockBytes;
            for (int r = 0; r < rows; ++r)
                readScales<V, F>(batch + r * rowBytes, count, scales[r]);
            const float *xs = x + first * quantBlockValues;
            for (int b = 0; b < count; ++b, xs += quantBlockValues) {
                prefetchAhead<V, blockBytes * rows>(w + (first + b) * blockBytes * rows, distance);
                const typename V::Reg xLow = V::load(xs);
                const typename V::Reg xHigh = V::load(xs + 16);
                for (int r = 0; r < rows; ++r) {
                    typename V::Reg low;
                    typename V::Reg high;
                    F::read(batch + r * rowBytes + b * blockBytes, scales[r] + b * F::scaleCount, low, high);
                    sums[r] = V::multiplyAdd(low, xLow, sums[r]);
                    sums[r] = V::multiplyAdd(high, xHigh, sums[r]);
                }
            }
        }
        sumAll<V, rows>(sums, y);
    }
};

} // namespace tokenloupe::kernel
