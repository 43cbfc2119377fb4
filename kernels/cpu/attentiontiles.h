// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/attentionrows.h"
#include "kernels/cpu/vectorkernels.h"

// Attention of many lanes over the Vector type V: keys are turned round, so that sixteen scores lie side by
// side, and the softmax of a piece of the positions.

namespace tokenloupe::kernel {

template <class V>
struct TransposeRows
{
    const WeightMatrix &rows;
    float *out;
    std::int64_t stride;

    template <class Format>
    void run() const
    {
        const std::int64_t rowBytes = rows.columns * Format::valueBytes;
        for (std::int64_t first = 0; first < rows.rows; first += 16) {
            const int count = rows.rows - first < 16 ? int(rows.rows - first) : 16;
            const std::byte *row = rows.data + first * rowBytes;
            for (std::int64_t c = 0; c < rows.columns; c += 16) {
                const int part = rows.columns - c < 16 ? int(rows.columns - c) : 16;
                typename V::Reg a[16];
                for (int r = 0; r < 16; ++r) {
                    const std::byte *p = row + r * rowBytes + c * Format::valueBytes;
                    if (r >= count)
                        a[r] = V::zero();
                    else
                        a[r] = part == 16 ? Format::read(p) : Format::readPart(p, part);
                }
                V::transpose(a);
                for (int r = 0; r < 16; ++r) {
                    float *to = out + (c + r) * stride + first;
                    if (count == 16)
                        V::store(to, a[r]);
                    else
                        V::storePart(to, a[r], count);
                }
            }
        }
    }
};

template <class V>
void transposeRows(const WeightMatrix &rows, float *out, std::int64_t stride)
{
    withPlainFormat<V>(rows.type, TransposeRows<V>{rows, out, stride});
}

/// registers × 16 positions times `lanes` queries.
template <class V, int registers, int lanes>
struct ScoreBlock
{
    using Reg = typename V::Reg;
    Reg at[registers][lanes];
};

template <class V, int registers, int lanes>
[[gnu::always_inline]] inline void addBlock(ScoreBlock<V, registers, lanes> &sum,
                                            const ScoreBlock<V, registers, lanes> &other)
{
    TOKENLOUPE_UNROLL
    for (int i = 0; i < registers * lanes; ++i)
        sum.at[i / lanes][i % lanes] = V::add(sum.at[i / lanes][i % lanes], other.at[i / lanes][i % lanes]);
}

template <class V, int registers, int lanes>
struct ScoreTile
{
    using Block = ScoreBlock<V, registers, lanes>;
    using Reg = typename V::Reg;

    const float *keys; ///< (columns × stride)
    std::int64_t stride;
    std::int64_t columns;
    const float *queries;
    std::int64_t queryStride;

    /// What the tree has over lanes first, first + width, …: the products of these columns, summed up.
    template <int first, int width>
    [[gnu::always_inline]] inline Block partial() const
    {
        if constexpr (width == 8) {
            return pair<first>();
        } else {
            Block sum = partial<first, 2 * width>();
            const Block other = partial<first + width, 2 * width>();
            addBlock<V>(sum, other);
            return sum;
        }
    }

private:
    /// Lanes `lane` and lane + 8 together, so that enough chains of additions overlap.
    template <int lane>
    [[gnu::always_inline]] inline Block pair() const
    {
        Block low;
        Block high;
        TOKENLOUPE_UNROLL
        for (int i = 0; i < registers * lanes; ++i)
            low.at[i / lanes][i % lanes] = high.at[i / lanes][i % lanes] = V::zero();
        const float *key = keys + lane * stride;
        for (std::int64_t c = lane; c < columns; c += 16, key += 16 * stride) {
            step(low, key, queries + c);
            step(high, key + 8 * stride, queries + c + 8);
        }
        addBlock<V>(low, high);
        return low;
    }
    [[gnu::always_inline]] inline void step(Block &sum, const float *key, const float *query) const
    {
        Reg k[registers];
        TOKENLOUPE_UNROLL
        for (int r = 0; r < registers; ++r) {
            k[r] = V::load(key + 16 * r);
            V::keep(k[r]); // or it would be loaded again for every query
        }
        TOKENLOUPE_UNROLL
        for (int l = 0; l < lanes; ++l) {
            const Reg q = V::all(query[l * queryStride]);
            TOKENLOUPE_UNROLL
            for (int r = 0; r < registers; ++r)
                sum.at[r][l] = V::multiplyAdd(k[r], q, sum.at[r][l]);
        }
    }
};

template <class V, int registers, int lanes>
void scoreBlock(const float *keys, std::int64_t stride, std::int64_t columns, const float *queries,
                std::int64_t queryStride, float *scores, std::int64_t scoreStride)
{
    const ScoreTile<V, registers, lanes> tile{keys, stride, columns, queries, queryStride};
    const ScoreBlock<V, registers, lanes> sums = tile.template partial<0, 1>();
    TOKENLOUPE_UNROLL
    for (int i = 0; i < registers * lanes; ++i)
        V::store(scores + i % lanes * scoreStride + i / lanes * 16, sums.at[i / lanes][i % lanes]);
}

template <class V>
void scoreTile(const float *keys, std::int64_t stride, std::int64_t columns, const float *queries,
               std::int64_t queryStride, std::int64_t lanes, float *scores, std::int64_t scoreStride)
{
    constexpr int registers = V::tileKeys;
    constexpr int together = V::tileQueries;
    std::int64_t l = 0;
    for (; l + together <= lanes; l += together) {
        std::int64_t p = 0;
        for (; p + 16 * registers <= stride; p += 16 * registers)
            scoreBlock<V, registers, together>(keys + p, stride, columns, queries + l * queryStride,
                                               queryStride, scores + l * scoreStride + p, scoreStride);
        for (; p < stride; p += 16)
            scoreBlock<V, 1, together>(keys + p, stride, columns, queries + l * queryStride, queryStride,
                                       scores + l * scoreStride + p, scoreStride);
    }
    for (; l < lanes; ++l) {
        for (std::int64_t p = 0; p < stride; p += 16)
            scoreBlock<V, 1, 1>(keys + p, stride, columns, queries + l * queryStride, queryStride,
                                scores + l * scoreStride + p, scoreStride);
    }
}

template <class V>
void softmaxPiece(float *x, std::int64_t n, float *largest, float *sum)
{
    using Reg = typename V::Reg;
    const std::int64_t whole = n / 16 * 16;
    alignas(64) float last[16];
    Reg rest = V::all(minusInfinity); // lanes behind the end become 0
    if (whole < n) {
        V::store(last, rest);
        for (std::int64_t i = whole; i < n; ++i)
            last[i - whole] = x[i];
        rest = V::load(last);
    }
    Reg top = V::larger(rest, V::all(minusInfinity)); // NaN is skipped
    for (std::int64_t i = 0; i < whole; i += 16)
        top = V::larger(V::load(x + i), top);
    *largest = V::largest(top);
    top = V::all(*largest);
    Reg total = V::zero();
    for (std::int64_t i = 0; i < whole; i += 16) {
        const Reg e = exponential<V>(V::subtract(V::load(x + i), top));
        V::store(x + i, e);
        total = V::add(total, e);
    }
    if (whole < n) {
        const Reg e = exponential<V>(V::subtract(rest, top));
        V::storePart(x + whole, e, int(n - whole));
        total = V::add(total, e);
    }
    *sum = V::sum(total);
}

template <class V>
void mergeSums(const float *part, float *total, std::int64_t width)
{
    using Reg = typename V::Reg;
    const float largest = part[0] > total[0] ? part[0] : total[0];
    const Reg before = exponential<V>(V::all(total[0] - largest));
    const Reg factor = exponential<V>(V::all(part[0] - largest));
    const auto merge = [&](Reg a, Reg b) { return V::multiplyAdd(b, factor, V::multiply(a, before)); };
    for (std::int64_t i = 0; i < 16 + width; i += 16)
        V::store(total + i, merge(V::load(total + i), V::load(part + i)));
    total[0] = largest;
}

} // namespace tokenloupe::kernel
