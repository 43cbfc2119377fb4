// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/decodekernels.h"

// Attention over the Vector type V: scores of queries against stored keys and weighted sums of stored values.
// Whichever way a score is computed, it is the same as dot() to the bit: lane = column mod 16, columns
// rising, one multiply-add each, then the fixed tree.

namespace tokenloupe::kernel {

/// Calls visit.run<Format>() for the types whose values stand alone; others are converted before they come
/// here.
template <class V, class Visitor>
[[gnu::always_inline]] inline void withPlainFormat(TensorType type, const Visitor &visit)
{
    if (type == TensorType::F16)
        visit.template run<PlainF16<V>>();
    else if (type == TensorType::BF16)
        visit.template run<PlainBF16<V>>();
    else
        visit.template run<PlainF32<V>>();
}

/// Calls visit.run<count>() for `most` lanes at a time, then for the rest: visit.run<count>(first lane).
template <int most, class Visitor>
[[gnu::always_inline]] inline void inLaneGroups(std::int64_t lanes, const Visitor &visit)
{
    std::int64_t lane = 0;
    for (; lane + most <= lanes; lane += most)
        visit.template run<most>(lane);
    const std::int64_t rest = lanes - lane;
    if constexpr (most > 1) {
        if (rest == 1)
            visit.template run<1>(lane);
    }
    if constexpr (most > 2) {
        if (rest == 2)
            visit.template run<2>(lane);
        else if (rest == 3)
            visit.template run<3>(lane);
    }
    if constexpr (most > 4) {
        if (rest == 4)
            visit.template run<4>(lane);
        else if (rest == 5)
            visit.template run<5>(lane);
    }
    static_assert(most <= 6);
}

/// The scores of `count` keys for `lanes` queries: each key is read and converted once.
template <class V, class Format, int lanes, int count>
[[gnu::always_inline]] inline void scoreKeys(const std::byte *keys, std::int64_t width, const float *queries,
                                             std::int64_t queryStride, float *scores,
                                             std::int64_t scoreStride)
{
    using Reg = typename V::Reg;
    const std::int64_t rowBytes = width * Format::valueBytes;
    Reg sums[lanes][count];
    TOKENLOUPE_UNROLL
    for (int i = 0; i < lanes * count; ++i)
        sums[i / count][i % count] = V::zero();
    std::int64_t c = 0;
    for (; c + 16 <= width; c += 16) {
        TOKENLOUPE_UNROLL
        for (int r = 0; r < count; ++r) {
            const Reg key = Format::read(keys + r * rowBytes + c * Format::valueBytes);
            TOKENLOUPE_UNROLL
            for (int l = 0; l < lanes; ++l)
                sums[l][r] = V::multiplyAdd(key, V::load(queries + l * queryStride + c), sums[l][r]);
        }
    }
    if (c < width) {
        const int rest = int(width - c);
        TOKENLOUPE_UNROLL
        for (int r = 0; r < count; ++r) {
            const Reg key = Format::readPart(keys + r * rowBytes + c * Format::valueBytes, rest);
            TOKENLOUPE_UNROLL
            for (int l = 0; l < lanes; ++l)
                sums[l][r] =
                    V::multiplyAdd(key, V::loadPart(queries + l * queryStride + c, rest), sums[l][r]);
        }
    }
    TOKENLOUPE_UNROLL
    for (int l = 0; l < lanes; ++l)
        sumAll<V, count>(sums[l], scores + l * scoreStride);
}

template <class V>
struct ScoreRows
{
    const WeightMatrix &keys;
    const float *queries;
    std::int64_t queryStride;
    std::int64_t lanes;
    float *scores;
    std::int64_t scoreStride;

    template <class Format>
    struct OfFormat
    {
        const ScoreRows &call;

        template <int lanes>
        void run(std::int64_t lane) const
        {
            const std::int64_t width = call.keys.columns;
            const float *queries = call.queries + lane * call.queryStride;
            float *scores = call.scores + lane * call.scoreStride;
            const std::byte *key = call.keys.data;
            std::int64_t r = 0;
            for (; r + 4 <= call.keys.rows; r += 4, key += 4 * width * Format::valueBytes)
                scoreKeys<V, Format, lanes, 4>(key, width, queries, call.queryStride, scores + r,
                                               call.scoreStride);
            for (; r < call.keys.rows; ++r, key += width * Format::valueBytes)
                scoreKeys<V, Format, lanes, 1>(key, width, queries, call.queryStride, scores + r,
                                               call.scoreStride);
        }
    };
    template <class Format>
    void run() const
    {
        inLaneGroups<V::scoreLanes>(lanes, OfFormat<Format>{*this});
    }
};

template <class V>
void scoreRows(const WeightMatrix &keys, const float *queries, std::int64_t queryStride, std::int64_t lanes,
               float *scores, std::int64_t scoreStride)
{
    withPlainFormat<V>(keys.type,
                       ScoreRows<V>{keys, queries, queryStride, lanes, scores, scoreStride});
}

/// `registers` times sixteen columns of the weighted sums of `lanes` lanes, or the `part` last columns.
template <class V, class Format, int lanes, int registers>
[[gnu::always_inline]] inline void weighColumns(const WeightMatrix &values, std::int64_t column,
                                                const float *weights, std::int64_t weightStride, float *out,
                                                std::int64_t outStride)
{
    using Reg = typename V::Reg;
    const std::int64_t rowBytes = values.columns * Format::valueBytes;
    const std::byte *value = values.data + column * Format::valueBytes;
    Reg sums[lanes][registers];
    TOKENLOUPE_UNROLL
    for (int i = 0; i < lanes * registers; ++i)
        sums[i / registers][i % registers] =
            V::load(out + i / registers * outStride + column + i % registers * 16);
    for (std::int64_t r = 0; r < values.rows; ++r, value += rowBytes) {
        Reg w[lanes];
        TOKENLOUPE_UNROLL
        for (int l = 0; l < lanes; ++l)
            w[l] = V::all(weights[l * weightStride + r]);
        TOKENLOUPE_UNROLL
        for (int k = 0; k < registers; ++k) {
            const Reg v = Format::read(value + 16 * k * Format::valueBytes);
            TOKENLOUPE_UNROLL
            for (int l = 0; l < lanes; ++l)
                sums[l][k] = V::multiplyAdd(w[l], v, sums[l][k]);
        }
    }
    TOKENLOUPE_UNROLL
    for (int i = 0; i < lanes * registers; ++i)
        V::store(out + i / registers * outStride + column + i % registers * 16,
                 sums[i / registers][i % registers]);
}

/// The last columns, fewer than sixteen.
template <class V, class Format>
void weighLastColumns(const WeightMatrix &values, std::int64_t column, const float *weights, float *out)
{
    const int rest = int(values.columns - column);
    const std::int64_t rowBytes = values.columns * Format::valueBytes;
    const std::byte *value = values.data + column * Format::valueBytes;
    auto sum = V::loadPart(out + column, rest);
    for (std::int64_t r = 0; r < values.rows; ++r, value += rowBytes)
        sum = V::multiplyAdd(V::all(weights[r]), Format::readPart(value, rest), sum);
    V::storePart(out + column, sum, rest);
}

template <class V>
struct WeighRows
{
    const WeightMatrix &values;
    const float *weights;
    std::int64_t weightStride;
    std::int64_t lanes;
    float *out;
    std::int64_t outStride;

    template <class Format>
    struct OfFormat
    {
        const WeighRows &call;

        template <int lanes>
        void run(std::int64_t lane) const
        {
            constexpr int registers = V::valueRegisters;
            const WeightMatrix &values = call.values;
            const float *weights = call.weights + lane * call.weightStride;
            float *out = call.out + lane * call.outStride;
            std::int64_t c = 0;
            for (; c + 16 * registers <= values.columns; c += 16 * registers)
                weighColumns<V, Format, lanes, registers>(values, c, weights, call.weightStride, out,
                                                          call.outStride);
            for (; c + 16 <= values.columns; c += 16)
                weighColumns<V, Format, lanes, 1>(values, c, weights, call.weightStride, out, call.outStride);
            for (int l = 0; l < lanes && c < values.columns; ++l)
                weighLastColumns<V, Format>(values, c, weights + l * call.weightStride,
                                            out + l * call.outStride);
        }
    };
    template <class Format>
    void run() const
    {
        inLaneGroups<V::valueLanes>(lanes, OfFormat<Format>{*this});
    }
};

template <class V>
void weighRows(const WeightMatrix &values, const float *weights, std::int64_t weightStride,
               std::int64_t lanes, float *out, std::int64_t outStride)
{
    withPlainFormat<V>(values.type,
                       WeighRows<V>{values, weights, weightStride, lanes, out, outStride});
}

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
        for (int r = 0; r < registers; ++r)
            k[r] = V::load(key + 16 * r);
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

} // namespace tokenloupe::kernel
