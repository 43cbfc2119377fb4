// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/decodekernels.h"

// Attention of a few lanes over the Vector type V: keys and values go from memory to registers, and are read
// and converted once for all lanes.

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
    withPlainFormat<V>(keys.type, ScoreRows<V>{keys, queries, queryStride, lanes, scores, scoreStride});
}

/// `registers` times sixteen columns of the weighted sums of `lanes` lanes.
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
    withPlainFormat<V>(values.type, WeighRows<V>{values, weights, weightStride, lanes, out, outStride});
}

} // namespace tokenloupe::kernel
