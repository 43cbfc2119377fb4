// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/cuda/prefilllanes.cuh"
#include "kernels/cuda/tensorblock.h"
#include "kernels/cuda/tensorproduct.cuh"

// How queries, keys and values get into a TensorBlock.

namespace tokenloupe::cuda {

__device__ inline TensorPlaces placesBehind(TensorBlock &block, std::int32_t keySize, std::int32_t valueTiles,
                                            std::int32_t positions)
{
    TensorPlaces at;
    at.keyStride = tensorKeyStride(keySize);
    at.valueStride = tensorValueStride(valueTiles);
    at.queries = reinterpret_cast<std::uint32_t *>(&block + 1);
    at.keys = at.queries + prefillLanes * at.keyStride;
    at.values = at.keys + positions * at.keyStride;
    return at;
}

/// Positions that nobody sees take the place of the nearest that somebody does.
__device__ inline void placeTensorRows(const PrefillCall &call, TensorBlock &block, std::int32_t tile,
                                       std::int32_t positions, const SeenSpan &seen)
{
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    if (thread >= positions)
        return;
    const KvLayerView &view = call.view;
    const std::int32_t position = max(seen.begin, min(seen.end - 1, tile + thread));
    const std::int32_t kvHead = kvHeadOf(call);
    block.keyPlaces[thread] = kvPlace(view, position, view.keyBlockStride, view.keyRowBytes) +
                              std::int64_t(kvHead) * view.keyHeadStride;
    block.valuePlaces[thread] = kvPlace(view, position, view.valueBlockStride, view.valueRowBytes) +
                                std::int64_t(kvHead) * view.valueHeadStride;
}

__device__ inline void writeFourWords(std::uint32_t *to, const std::uint32_t (&words)[4])
{
    *reinterpret_cast<uint4 *>(to) = make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ inline void packEight(const float (&values)[8], std::uint32_t (&words)[4])
{
#pragma unroll
    for (int i = 0; i < 4; ++i)
        words[i] = packHalves(withinHalves(values[2 * i]), withinHalves(values[2 * i + 1]));
}

/// Steps of a block's threads through lines of pieces of eight columns, without a division for each.
struct PieceWalk
{
    std::int32_t line = 0;
    std::int32_t piece = 0;
    std::int32_t pieces = 1;
    std::int32_t lineStep = 0;
    std::int32_t pieceStep = 0;

    __device__ explicit PieceWalk(std::int32_t piecesOfLine)
        : line(static_cast<std::int32_t>(threadIdx.x) / piecesOfLine)
        , piece(static_cast<std::int32_t>(threadIdx.x) - line * piecesOfLine)
        , pieces(piecesOfLine)
        , lineStep(tensorThreads / piecesOfLine)
        , pieceStep(tensorThreads - lineStep * piecesOfLine)
    {}

    __device__ void next()
    {
        line += lineStep;
        piece += pieceStep;
        if (piece >= pieces) {
            piece -= pieces;
            ++line;
        }
    }
};

/// The block's queries, scaled.
__device__ inline void readQueries(const PrefillCall &call, const TensorBlock &block, const TensorPlaces &at)
{
    for (PieceWalk walk(ceilDivide(call.view.keySize, 16) * 2); walk.line < prefillLanes; walk.next()) {
        const Lane lane = block.lanes[walk.line];
        std::uint32_t words[4] = {};
        if (lane.row >= 0 && 8 * walk.piece < call.view.keySize) {
            const auto *from = reinterpret_cast<const float4 *>(
                call.queries.data + lane.row * call.queries.stride +
                std::int64_t(lane.head) * call.view.keySize + 8 * walk.piece);
            const float scale = call.shape.scale;
            const float4 low = from[0];
            const float4 high = from[1];
            const float values[8] = {scale * low.x,  scale * low.y,  scale * low.z,  scale * low.w,
                                     scale * high.x, scale * high.y, scale * high.z, scale * high.w};
            packEight(values, words);
        }
        writeFourWords(at.queries + walk.line * at.keyStride + 4 * walk.piece, words);
    }
}

__device__ inline void readKeys(const PrefillCall &call, const TensorBlock &block, const TensorPlaces &at,
                                std::int32_t tile, std::int32_t positions, const SeenSpan &seen)
{
    const KvLayerView &view = call.view;
    const bool areHalves = view.keyType == KvElement::F16 && call.shape.keyRotation.rotated == 0;
    for (PieceWalk walk(ceilDivide(view.keySize, 16) * 2); walk.line < positions; walk.next()) {
        std::uint32_t *to = at.keys + walk.line * at.keyStride + 4 * walk.piece;
        const std::byte *row = view.keys + block.keyPlaces[walk.line];
        if (8 * walk.piece >= view.keySize) {
            writeFourWords(to, {0, 0, 0, 0});
        } else if (areHalves) {
            *reinterpret_cast<uint4 *>(to) = *reinterpret_cast<const uint4 *>(row + 16 * walk.piece);
        } else {
            float values[8];
            const std::int32_t position = max(seen.begin, min(seen.end - 1, tile + walk.line));
            readKeyEight(view, call.shape.keyRotation, row, 8 * walk.piece, position, values);
            std::uint32_t words[4];
            packEight(values, words);
            writeFourWords(to, words);
        }
    }
}

/// Values of two positions side by side. Where some lane must not see some position (not `isCommon`), no
/// value may be infinite: a weight of 0 would make it a NaN.
__device__ inline void readValues(const PrefillCall &call, const TensorBlock &block, const TensorPlaces &at,
                                  std::int32_t positions, bool isCommon)
{
    const KvLayerView &view = call.view;
    const bool areHalves = view.valueType == KvElement::F16 && isCommon;
    for (PieceWalk walk(view.valueSize / 8); walk.line < positions / 2; walk.next()) {
        const std::byte *even = view.values + block.valuePlaces[2 * walk.line];
        const std::byte *odd = view.values + block.valuePlaces[2 * walk.line + 1];
        std::uint32_t words[8];
        if (areHalves) {
            const uint4 a = *reinterpret_cast<const uint4 *>(even + 16 * walk.piece);
            const uint4 b = *reinterpret_cast<const uint4 *>(odd + 16 * walk.piece);
            const std::uint32_t first[4] = {a.x, a.y, a.z, a.w};
            const std::uint32_t second[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                words[2 * i] = (first[i] & 0xFFFFU) | second[i] << 16;
                words[2 * i + 1] = first[i] >> 16 | (second[i] & 0xFFFF0000U);
            }
        } else {
            float first[8];
            float second[8];
            readEight(view.valueType, even, 8 * walk.piece, first);
            readEight(view.valueType, odd, 8 * walk.piece, second);
#pragma unroll
            for (int i = 0; i < 8; ++i)
                words[i] = packHalves(withinHalves(first[i]), withinHalves(second[i]));
        }
        auto *to = reinterpret_cast<uint4 *>(at.values + walk.line * at.valueStride + 8 * walk.piece);
        to[0] = make_uint4(words[0], words[1], words[2], words[3]);
        to[1] = make_uint4(words[4], words[5], words[6], words[7]);
    }
}

} // namespace tokenloupe::cuda
