// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/attentionmerge.h"
#include "kernels/cuda/decodeblock.h"
#include "kernels/cuda/kvread.cuh"
#include "kernels/cuda/rotaryturn.cuh"
#include "kernels/cuda/shapedscore.cuh"

#include <cmath>

// The steps of attendDecode over one tile of positions.

namespace tokenloupe::cuda {

constexpr unsigned allLanesOfWarp = 0xFFFFFFFFU;
constexpr int keyThreads = 8;                        ///< threads that share a key
constexpr int keySlots = decodeThreads / keyThreads; ///< keys that are under way in a block
static_assert(decodeTurnedKeys == keySlots, "turned keys are scored in one go");

/// Sums of `count` numbers over eight neighbouring threads. Where there are eight or more, each thread keeps
/// an eighth of them: thread t numbers t · count / 8 and on. Of fewer, thread t has number t · count / 8.
/// Every number is added up in the same order whatever the count.
template <int count>
__device__ __forceinline__ void sumOverEight(float (&sums)[count])
{
    const unsigned lane = threadIdx.x % keyThreads;
    int kept = count;
#pragma unroll
    for (int mask = keyThreads / 2; mask > 0; mask /= 2) {
        if (kept == 1) {
            sums[0] += __shfl_xor_sync(allLanesOfWarp, sums[0], mask);
            continue;
        }
        kept /= 2;
        const bool isUpper = (lane & static_cast<unsigned>(mask)) != 0;
#pragma unroll
        for (int i = 0; i < count / 2; ++i) {
            if (i >= kept)
                continue;
            const float sent = isUpper ? sums[i] : sums[i + kept];
            const float own = isUpper ? sums[i + kept] : sums[i];
            sums[i] = own + __shfl_xor_sync(allLanesOfWarp, sent, mask);
        }
    }
}

/// Scores of the tile's positions first, first + keySlots, … (`count` of a thread) for all lanes.
template <int lanes, int count>
struct ScoreKeys
{
    DecodeBlock<lanes> &block;
    const float *queries;   ///< (lanes × keySize), scaled
    const std::byte *plane; ///< of the head; null: the keys are turned ones
    const float *turned;    ///< (keySlots × keySize)
    std::int32_t keySize;
    std::int32_t first;

    template <KvElement type>
    __device__ __forceinline__ void run()
    {
        const auto part = static_cast<std::int32_t>(threadIdx.x % keyThreads);
        const auto slot = static_cast<std::int32_t>(threadIdx.x / keyThreads);
        const std::byte *rows[count];
#pragma unroll
        for (int k = 0; k < count; ++k)
            rows[k] = plane ? plane + block.keys[first + slot + keySlots * k]
                            : reinterpret_cast<const std::byte *>(turned + slot * keySize);
        float sums[count * lanes];
#pragma unroll
        for (int i = 0; i < count * lanes; ++i)
            sums[i] = 0.0F;
#pragma unroll 1
        for (std::int32_t c = 8 * part; c < keySize; c += 8 * keyThreads) {
            KvPiece<type, 8> pieces[count];
#pragma unroll
            for (int k = 0; k < count; ++k)
                pieces[k].read(rows[k], c);
            float keys[count][8];
#pragma unroll
            for (int k = 0; k < count; ++k)
                pieces[k].convert(keys[k]);
#pragma unroll
            for (int l = 0; l < lanes; ++l) {
                const auto *query = reinterpret_cast<const float4 *>(queries + l * keySize + c);
                const float4 low = query[0];
                const float4 high = query[1];
                const float q[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
                for (int k = 0; k < count; ++k) {
#pragma unroll
                    for (int i = 0; i < 8; ++i)
                        sums[k * lanes + l] = fmaf(q[i], keys[k][i], sums[k * lanes + l]);
                }
            }
        }
        sumOverEight(sums);
        keep(sums, part, slot);
    }

private:
    __device__ __forceinline__ void keep(const float (&sums)[count * lanes], std::int32_t part,
                                         std::int32_t slot)
    {
        constexpr int all = count * lanes;
        constexpr int kept = all < keyThreads ? 1 : all / keyThreads;
#pragma unroll
        for (int i = 0; i < kept; ++i) {
            const std::int32_t number = part * all / keyThreads + i;
            const std::int32_t position = first + slot + keySlots * (number / lanes);
            block.weights[position * DecodeBlock<lanes>::weightStride + number % lanes] = sums[i];
        }
    }
};

/// Scores of positions [first, first + tile) become weights relative to the largest so far. A warp takes
/// every fourth lane.
template <int lanes>
__device__ inline void weighTile(DecodeBlock<lanes> &block, const AttentionShape &shape, std::int32_t first)
{
    constexpr int warps = decodeThreads / 32;
    constexpr int perThread = decodeTilePositions / 32;
    const float none = -INFINITY;
    const auto thread = static_cast<std::int32_t>(threadIdx.x % 32);
    for (auto l = static_cast<std::int32_t>(threadIdx.x / 32); l < lanes; l += warps) {
        float score[perThread];
        bool isSeen[perThread];
        float largest = none;
#pragma unroll
        for (int i = 0; i < perThread; ++i) {
            const std::int32_t at = thread + 32 * i;
            const std::int32_t position = first + at;
            isSeen[i] = position >= block.begin[l] && position < block.end[l];
            score[i] = isSeen[i] ? shapedScore(shape, block.head[l], block.end[l] - 1 - position,
                                               block.weights[at * DecodeBlock<lanes>::weightStride + l])
                                 : none;
            largest = fmaxf(largest, score[i]); // NaN is skipped
        }
        for (int mask = 16; mask > 0; mask /= 2)
            largest = fmaxf(largest, __shfl_xor_sync(allLanesOfWarp, largest, mask));
        const float before = block.maximum[l];
        largest = fmaxf(largest, before);
        float sum = 0.0F;
#pragma unroll
        for (int i = 0; i < perThread; ++i) {
            const float weight = isSeen[i] ? expf(score[i] - largest) : 0.0F;
            block.weights[(thread + 32 * i) * DecodeBlock<lanes>::weightStride + l] = weight;
            sum += weight;
        }
        for (int mask = 16; mask > 0; mask /= 2)
            sum += __shfl_xor_sync(allLanesOfWarp, sum, mask);
        if (thread == 0) {
            const float factor = before == none ? 0.0F : expf(before - largest);
            block.factor[l] = factor;
            block.total[l] = fmaf(block.total[l], factor, sum);
            block.maximum[l] = largest;
        }
        __syncwarp(); // all have read the largest of before
    }
}

/// sums += weight · value over the tile's positions begin + turn, begin + turn + turns, …
template <int lanes>
struct AddValues
{
    static constexpr int columns = decodeColumns;

    const DecodeBlock<lanes> &block;
    const std::byte *plane; ///< of the head
    std::int32_t column;
    std::int32_t begin;
    std::int32_t end;
    std::int32_t turns;
    float (&sums)[lanes][columns];

    template <KvElement type>
    __device__ __forceinline__ void run()
    {
        constexpr int ahead = lanes > 8 ? 2 : 4; // reads under way
        std::int32_t at = begin;
#pragma unroll 1
        for (; at + (ahead - 1) * turns < end; at += ahead * turns) {
            KvPiece<type, columns> pieces[ahead];
#pragma unroll
            for (int i = 0; i < ahead; ++i)
                pieces[i].read(plane + block.values[at + i * turns], column);
#pragma unroll
            for (int i = 0; i < ahead; ++i)
                add(pieces[i], at + i * turns);
        }
#pragma unroll 1
        for (; at < end; at += turns) {
            KvPiece<type, columns> piece;
            piece.read(plane + block.values[at], column);
            add(piece, at);
        }
    }

private:
    template <KvElement type>
    __device__ __forceinline__ void add(const KvPiece<type, columns> &piece, std::int32_t at)
    {
        float values[columns];
        piece.convert(values);
        const float *weights = block.weights + at * DecodeBlock<lanes>::weightStride;
#pragma unroll
        for (int l = 0; l < lanes; ++l) {
            const float weight = weights[l];
            // What a lane does not see must not be touched: it may be infinite.
            if (weight != 0.0F) {
#pragma unroll
                for (int i = 0; i < columns; ++i)
                    sums[l][i] = fmaf(weight, values[i], sums[l][i]);
            }
        }
    }
};

struct UnpackKey
{
    const std::byte *row;
    std::int32_t column;
    float *out;

    template <KvElement type>
    __device__ __forceinline__ void run()
    {
        KvPiece<type, 4> piece;
        piece.read(row, column);
        float values[4];
        piece.convert(values);
        *reinterpret_cast<float4 *>(out) = make_float4(values[0], values[1], values[2], values[3]);
    }
};

/// keySlots keys as float32 in shared memory, turned to their positions.
template <int lanes>
__device__ inline void turnKeys(const DecodeCall &call, const DecodeBlock<lanes> &block,
                                const std::byte *keys, std::int32_t tile, std::int32_t first, float *out)
{
    const std::int32_t keySize = call.view.keySize;
    const std::int32_t pieces = keySize / 4;
    for (auto i = static_cast<std::int32_t>(threadIdx.x); i < keySlots * pieces; i += decodeThreads) {
        const std::int32_t key = i / pieces;
        const std::int32_t column = (i - key * pieces) * 4;
        UnpackKey unpack{keys + block.keys[first + key], column, out + key * keySize + column};
        withKvType(call.view.keyType, unpack);
    }
    __syncthreads();
    const RotaryParams &rotary = call.shape.keyRotation;
    const std::int32_t pairs = rotary.rotated / 2;
    for (auto i = static_cast<std::int32_t>(threadIdx.x); i < keySlots * pairs; i += decodeThreads) {
        const std::int32_t key = i / pairs;
        const std::int32_t pair = i - key * pairs;
        const bool areNeighbours = rotary.pairs == RotaryPairs::Neighbours;
        float *x = out + key * keySize + (areNeighbours ? 2 * pair : pair);
        float *y = x + (areNeighbours ? 1 : pairs);
        const Turn turn = turnOf(tile + first + key, rotary.inverseFrequencies[pair], rotary.magnitude);
        const float before = *x;
        *x = turnedFirst(before, *y, turn);
        *y = turnedSecond(before, *y, turn);
    }
    __syncthreads();
}

} // namespace tokenloupe::cuda
