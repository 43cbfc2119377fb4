// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/codebookformats.h"
#include "kernels/cpu/cpukernels.h"
#include "kernels/cpu/decodekernels.h"
#include "kernels/cpu/superkernels.h"

// Matrix products over the Vector type V. Whatever the shape of the call, a sum is made of the same
// operations in the same order: lane = column mod 16, columns rising, one multiply-add each, then the fixed
// tree.

namespace tokenloupe::kernel {

/// Columns of a tile of weights that is unpacked at a time; with tileRows of them it fits in the first-level
/// cache. A multiple of every block size.
constexpr int tileColumns = 768;
/// Tokens that one unpacked tile serves before the next is unpacked.
constexpr int tileBatch = 96;

/// `count` values of a row from column `begin` (where a block begins) as float32: sixteen go to out, the next
/// sixteen to out + step, and so on; the last are filled up with zeros.
template <class V, template <class> class Format>
struct PlainUnpack
{
    static void run(const std::byte *row, std::int64_t begin, int count, float *out, int step)
    {
        const std::byte *p = row + begin * Format<V>::valueBytes;
        int c = 0;
        for (; c + 16 <= count; c += 16, out += step)
            V::store(out, Format<V>::read(p + c * Format<V>::valueBytes));
        if (c < count)
            V::store(out, Format<V>::readPart(p + c * Format<V>::valueBytes, count - c));
    }
    static std::int64_t rowBytes(std::int64_t columns) { return columns * Format<V>::valueBytes; }
};

template <class V, template <class> class Format>
struct QuantUnpack
{
    using Block = typename Format<V>::Block;
    static void run(const std::byte *row, std::int64_t begin, int count, float *out, int step)
    {
        const std::byte *p = row + begin / quantBlockValues * std::int64_t(sizeof(Block));
        const int blocks = count / quantBlockValues;
        alignas(64) float scales[scaleBatch * Format<V>::scaleCount];
        for (int b = 0; b < blocks; ++b, p += sizeof(Block), out += 2 * step) {
            const int inBatch = b % scaleBatch;
            if (inBatch == 0)
                readScales<V, Format<V>>(p, blocks - b < scaleBatch ? blocks - b : scaleBatch, scales);
            typename V::Reg low;
            typename V::Reg high;
            Format<V>::read(p, scales + inBatch * Format<V>::scaleCount, low, high);
            V::store(out, low);
            V::store(out + step, high);
        }
    }
    static std::int64_t rowBytes(std::int64_t columns)
    {
        return columns / quantBlockValues * std::int64_t(sizeof(Block));
    }
};

/// acc += sixteen columns of tileRows rows times those of `tokens` tokens.
template <class V, int tokens>
[[gnu::always_inline]] inline void multiplyStep(typename V::Group (&acc)[tokens][V::tileRows][V::groups],
                                                const float *tile, const float *x, std::int64_t xStride)
{
    using Group = typename V::Group;
    TOKENLOUPE_UNROLL
    for (int g = 0; g < V::groups; ++g) {
        constexpr int lanes = 16 / V::groups;
        Group xs[tokens];
        TOKENLOUPE_UNROLL
        for (int t = 0; t < tokens; ++t)
            xs[t] = V::loadGroup(x + t * xStride + g * lanes);
        TOKENLOUPE_UNROLL
        for (int r = 0; r < V::tileRows; ++r) {
            Group w = V::loadGroup(tile + 16 * r + g * lanes);
            V::keep(w); // or it would be loaded again for every token
            TOKENLOUPE_UNROLL
            for (int t = 0; t < tokens; ++t)
                acc[t][r][g] = V::multiplyAddGroup(w, xs[t], acc[t][r][g]);
        }
    }
}

/// sums[t][r] += tile · x for tileRows rows and `tokens` tokens; `tile` holds sixteen columns of each row in
/// turn.
template <class V, int tokens>
void multiplyTile(const float *tile, const float *x, std::int64_t xStride, int columns, float *sums)
{
    constexpr int rows = V::tileRows;
    constexpr int lanes = 16 / V::groups;
    typename V::Group acc[tokens][rows][V::groups];
    TOKENLOUPE_UNROLL
    for (int i = 0; i < tokens * rows * V::groups; ++i)
        acc[i / (rows * V::groups)][i / V::groups % rows][i % V::groups] = V::loadGroup(sums + i * lanes);
    int c = 0;
    for (; c + 16 <= columns; c += 16, tile += 16 * rows)
        multiplyStep<V, tokens>(acc, tile, x + c, xStride);
    if (c < columns) {
        float xs[tokens][16] = {};
        for (int t = 0; t < tokens; ++t)
            std::memcpy(xs[t], x + t * xStride + c, std::size_t(columns - c) * sizeof(float));
        multiplyStep<V, tokens>(acc, tile, xs[0], 16);
    }
    TOKENLOUPE_UNROLL
    for (int i = 0; i < tokens * rows * V::groups; ++i)
        V::storeGroup(sums + i * lanes, acc[i / (rows * V::groups)][i / V::groups % rows][i % V::groups]);
}

template <class V>
void multiplyTileTokens(const float *tile, const float *x, std::int64_t xStride, int tokens, int columns,
                        float *sums)
{
    constexpr int step = V::tileTokens;
    int t = 0;
    for (; t + step <= tokens; t += step)
        multiplyTile<V, step>(tile, x + t * xStride, xStride, columns, sums + t * V::tileRows * 16);
    for (; t < tokens; ++t)
        multiplyTile<V, 1>(tile, x + t * xStride, xStride, columns, sums + t * V::tileRows * 16);
}

template <class V, template <template <class> class, int> class Decode, template <class> class Format,
          class Unpacker>
struct Matmul
{
    static void run(const WeightMatrix &w, const float *x, std::int64_t xStride, std::int64_t tokens,
                    float *y, std::int64_t yStride, std::int64_t rowBegin, std::int64_t rowEnd)
    {
        if (tokens == 1)
            decode(w, x, y, rowBegin, rowEnd);
        else if (tokens > 1)
            prefill(w, x, xStride, tokens, y, yStride, rowBegin, rowEnd);
    }

private:
    static void decode(const WeightMatrix &w, const float *x, float *y, std::int64_t rowBegin,
                       std::int64_t rowEnd)
    {
        const std::int64_t rowBytes = Unpacker::rowBytes(w.columns);
        std::int64_t r = rowBegin;
        for (; r + V::decodeRows <= rowEnd; r += V::decodeRows)
            Decode<Format, V::decodeRows>::run(w.data + r * rowBytes, rowBytes, x, w.columns, y + r);
        for (; r < rowEnd; ++r)
            Decode<Format, 1>::run(w.data + r * rowBytes, rowBytes, x, w.columns, y + r);
    }

    static void prefill(const WeightMatrix &w, const float *x, std::int64_t xStride, std::int64_t tokens,
                        float *y, std::int64_t yStride, std::int64_t rowBegin, std::int64_t rowEnd)
    {
        constexpr int rows = V::tileRows;
        alignas(64) float tile[tileColumns * rows];
        alignas(64) float sums[tileBatch * rows * 16];
        const std::int64_t rowBytes = Unpacker::rowBytes(w.columns);
        for (std::int64_t t = 0; t < tokens; t += tileBatch) {
            const int batch = tokens - t < tileBatch ? int(tokens - t) : tileBatch;
            for (std::int64_t r = rowBegin; r < rowEnd; r += rows) {
                const int used = rowEnd - r < rows ? int(rowEnd - r) : rows;
                std::memset(sums, 0, std::size_t(batch) * rows * 16 * sizeof(float));
                if (used < rows)
                    std::memset(tile, 0, sizeof tile); // rows that do not exist: summed, not written
                for (std::int64_t c = 0; c < w.columns; c += tileColumns) {
                    const int columns = w.columns - c < tileColumns ? int(w.columns - c) : tileColumns;
                    for (int i = 0; i < used; ++i)
                        Unpacker::run(w.data + (r + i) * rowBytes, c, columns, tile + 16 * i, 16 * rows);
                    multiplyTileTokens<V>(tile, x + t * xStride + c, xStride, batch, columns, sums);
                }
                for (int i = 0; i < batch; ++i)
                    writeSums(sums + i * rows * 16, used, y + (t + i) * yStride + r);
            }
        }
    }

    static void writeSums(const float *sums, int used, float *y)
    {
        constexpr int rows = V::tileRows;
        typename V::Reg loaded[rows];
        for (int r = 0; r < rows; ++r)
            loaded[r] = V::load(sums + 16 * r);
        if (used == rows) {
            sumAll<V, rows>(loaded, y);
            return;
        }
        float out[rows];
        sumAll<V, rows>(loaded, out);
        std::memcpy(y, out, std::size_t(used) * sizeof(float));
    }
};

/// Calls `visit` with what computes type `type`, if anything does.
template <class V, class Visitor>
void withFormat(TensorType type, Visitor visit)
{
    switch (type) {
    case TensorType::F32:
        return visit.template plain<PlainF32>();
    case TensorType::F16:
        return visit.template plain<PlainF16>();
    case TensorType::BF16:
        return visit.template plain<PlainBF16>();
    case TensorType::Q4_0:
        return visit.template quant<QuantQ4_0>();
    case TensorType::Q4_1:
        return visit.template quant<QuantQ4_1>();
    case TensorType::Q5_0:
        return visit.template quant<QuantQ5_0>();
    case TensorType::Q5_1:
        return visit.template quant<QuantQ5_1>();
    case TensorType::Q8_0:
        return visit.template quant<QuantQ8_0>();
    case TensorType::IQ4_NL:
        return visit.template quant<QuantIQ4_NL>();
    case TensorType::MXFP4:
        return visit.template quant<QuantMXFP4>();
    case TensorType::Q2_K:
        return visit.template super<SuperQ2_K>();
    case TensorType::Q3_K:
        return visit.template super<SuperQ3_K>();
    case TensorType::Q4_K:
        return visit.template super<SuperQ4_K>();
    case TensorType::Q5_K:
        return visit.template super<SuperQ5_K>();
    case TensorType::Q6_K:
        return visit.template super<SuperQ6_K>();
    case TensorType::Q8_K:
        return visit.template super<SuperQ8_K>();
    case TensorType::IQ4_XS:
        return visit.template super<SuperIQ4_XS>();
    case TensorType::IQ2_XXS:
        return visit.template super<SuperIQ2_XXS>();
    case TensorType::IQ2_XS:
        return visit.template super<SuperIQ2_XS>();
    case TensorType::IQ2_S:
        return visit.template super<SuperIQ2_S>();
    case TensorType::IQ3_XXS:
        return visit.template super<SuperIQ3_XXS>();
    case TensorType::IQ3_S:
        return visit.template super<SuperIQ3_S>();
    case TensorType::IQ1_S:
        return visit.template super<SuperIQ1_S>();
    case TensorType::IQ1_M:
        return visit.template super<SuperIQ1_M>();
    case TensorType::TQ1_0:
        return visit.template super<SuperTQ1_0>();
    case TensorType::TQ2_0:
        return visit.template super<SuperTQ2_0>();
    case TensorType::NVFP4:
        return visit.template super<SuperNVFP4>();
    default:
        return; // note: the backend refuses what is not computable (TensorTypeTraits) before it comes here
    }
}

template <class V>
struct MatmulVisitor
{
    template <template <class> class Format, int rows>
    using DecodePlain = PlainDecode<V, Format, rows>;
    template <template <class> class Format, int rows>
    using DecodeQuant = QuantDecode<V, Format, rows>;
    template <template <class> class Format, int rows>
    using DecodeSuper = SuperDecode<V, Format, rows>;

    const WeightMatrix &w;
    const float *x;
    std::int64_t xStride;
    std::int64_t tokens;
    float *y;
    std::int64_t yStride;
    std::int64_t rowBegin;
    std::int64_t rowEnd;

    template <template <class> class Format>
    void plain() const
    {
        Matmul<V, DecodePlain, Format, PlainUnpack<V, Format>>::run(w, x, xStride, tokens, y, yStride,
                                                                    rowBegin, rowEnd);
    }
    template <template <class> class Format>
    void quant() const
    {
        Matmul<V, DecodeQuant, Format, QuantUnpack<V, Format>>::run(w, x, xStride, tokens, y, yStride,
                                                                    rowBegin, rowEnd);
    }
    template <template <class> class Format>
    void super() const
    {
        Matmul<V, DecodeSuper, Format, SuperUnpack<V, Format>>::run(w, x, xStride, tokens, y, yStride,
                                                                    rowBegin, rowEnd);
    }
};

template <class V>
void matmul(const WeightMatrix &w, const float *x, std::int64_t xStride, std::int64_t tokens, float *y,
            std::int64_t yStride, std::int64_t rowBegin, std::int64_t rowEnd)
{
    withFormat<V>(w.type, MatmulVisitor<V>{w, x, xStride, tokens, y, yStride, rowBegin, rowEnd});
}

template <class V>
struct RowVisitor
{
    const WeightMatrix &w;
    std::int64_t row;
    float *out;

    template <template <class> class Format>
    void plain() const
    {
        using F = Format<V>;
        const std::byte *p = w.data + row * w.columns * F::valueBytes;
        std::int64_t c = 0;
        for (; c + 16 <= w.columns; c += 16)
            V::store(out + c, F::read(p + c * F::valueBytes));
        if (c < w.columns)
            V::storePart(out + c, F::readPart(p + c * F::valueBytes, int(w.columns - c)), int(w.columns - c));
    }
    template <template <class> class Format>
    void quant() const
    {
        unpack<QuantUnpack<V, Format>>();
    }
    template <template <class> class Format>
    void super() const
    {
        unpack<SuperUnpack<V, Format>>();
    }

private:
    template <class Unpacker>
    void unpack() const
    {
        Unpacker::run(w.data + row * Unpacker::rowBytes(w.columns), 0, int(w.columns), out, 16);
    }
};

template <class V>
void dequantizeRow(const WeightMatrix &w, std::int64_t row, float *out)
{
    withFormat<V>(w.type, RowVisitor<V>{w, row, out});
}

} // namespace tokenloupe::kernel
