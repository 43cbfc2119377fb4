// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/prefilllanes.cuh"
#include "kernels/cuda/reduce.cuh"

// float32 tiles of 64 lanes × 64 positions. Thread (x, y) of 16 × 16 computes lanes y, y + 16, … with
// positions x, x + 16, … of the scores, and with columns 4x to 4x + 3 of every 64 of the output. What a lane
// gets is computed in the same order whatever lanes and rows come along: tiles begin at multiples of 64.

namespace tokenloupe::cuda {

constexpr std::int32_t tilePositions = 64;
constexpr std::int32_t scoreColumns = 32; ///< of queries and keys that are in shared memory at a time
constexpr std::int32_t valueColumns = 64; ///< of values
constexpr std::int32_t perThread = 4;     ///< lanes, positions
constexpr std::int32_t tileSide = 16;     ///< of the threads' square

/// Rows are four floats longer than they need to be, so that neighbouring rows begin in different banks.
struct ScoreSlice
{
    float queries[prefillLanes][scoreColumns + 4];
    float keys[tilePositions][scoreColumns + 4];
};

struct alignas(16) PrefillBlock
{
    float weights[prefillLanes][tilePositions + 4];
    union {
        ScoreSlice slice;
        float values[tilePositions][valueColumns + 4];
    };
    std::int64_t keyPlaces[tilePositions]; ///< bytes from the plane
    std::int64_t valuePlaces[tilePositions];
    Lane lanes[prefillLanes];
};

/// What a thread keeps of its four lanes.
template <int slices>
struct LaneSums
{
    float maximum[perThread];
    float total[perThread];
    float values[perThread][slices][4];
};

/// Positions that nobody sees take the place of the nearest that somebody does.
__device__ inline void placeRows(const PrefillCall &call, PrefillBlock &block, std::int32_t tile,
                                 const SeenSpan &seen)
{
    if (threadIdx.x >= tilePositions)
        return;
    const KvLayerView &view = call.view;
    const std::int32_t position = max(seen.begin, min(seen.end - 1, tile + static_cast<int>(threadIdx.x)));
    const std::int32_t kvHead = kvHeadOf(call);
    block.keyPlaces[threadIdx.x] = kvPlace(view, position, view.keyBlockStride, view.keyRowBytes) +
                                   std::int64_t(kvHead) * view.keyHeadStride;
    block.valuePlaces[threadIdx.x] = kvPlace(view, position, view.valueBlockStride, view.valueRowBytes) +
                                     std::int64_t(kvHead) * view.valueHeadStride;
}

__device__ inline void writeEight(const float (&from)[8], float *to)
{
    auto *words = reinterpret_cast<float4 *>(to);
    words[0] = make_float4(from[0], from[1], from[2], from[3]);
    words[1] = make_float4(from[4], from[5], from[6], from[7]);
}

/// Columns [column, column + scoreColumns) of queries and keys; 0 behind the last. A thread moves eight of
/// each.
__device__ inline void readSlice(const PrefillCall &call, PrefillBlock &block, std::int32_t tile,
                                 const SeenSpan &seen, std::int32_t column)
{
    const std::int32_t line = static_cast<std::int32_t>(threadIdx.x) / 4;
    const std::int32_t offset = static_cast<std::int32_t>(threadIdx.x) % 4 * 8;
    const std::int32_t at = column + offset;
    float query[8] = {};
    float key[8] = {};
    if (at < call.view.keySize) {
        const Lane lane = block.lanes[line];
        if (lane.row >= 0) {
            const auto *from =
                reinterpret_cast<const float4 *>(call.queries.data + lane.row * call.queries.stride +
                                                 std::int64_t(lane.head) * call.view.keySize + at);
            const float4 low = from[0];
            const float4 high = from[1];
            const float values[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
            for (int i = 0; i < 8; ++i)
                query[i] = call.shape.scale * values[i];
        }
        const std::int32_t position = max(seen.begin, min(seen.end - 1, tile + line));
        readKeyEight(call.view, call.shape.keyRotation, call.view.keys + block.keyPlaces[line], at, position,
                     key);
    }
    writeEight(query, &block.slice.queries[line][offset]);
    writeEight(key, &block.slice.keys[line][offset]);
}

__device__ inline void scoreSlice(const PrefillBlock &block, float (&scores)[perThread][perThread])
{
    const std::int32_t x = static_cast<std::int32_t>(threadIdx.x) % tileSide;
    const std::int32_t y = static_cast<std::int32_t>(threadIdx.x) / tileSide;
#pragma unroll 2
    for (std::int32_t c = 0; c < scoreColumns; c += 4) {
        float4 query[perThread];
        float4 key[perThread];
#pragma unroll
        for (int i = 0; i < perThread; ++i) {
            query[i] = *reinterpret_cast<const float4 *>(&block.slice.queries[y + tileSide * i][c]);
            key[i] = *reinterpret_cast<const float4 *>(&block.slice.keys[x + tileSide * i][c]);
        }
#pragma unroll
        for (int i = 0; i < perThread; ++i) {
#pragma unroll
            for (int j = 0; j < perThread; ++j) {
                float sum = scores[i][j];
                sum = fmaf(query[i].x, key[j].x, sum);
                sum = fmaf(query[i].y, key[j].y, sum);
                sum = fmaf(query[i].z, key[j].z, sum);
                scores[i][j] = fmaf(query[i].w, key[j].w, sum);
            }
        }
    }
}

/// Scores become weights relative to the largest so far; what was summed up before is made relative to it
/// too. The sixteen threads of a lane are neighbours in a warp.
template <int slices>
__device__ inline void weighTile(const PrefillCall &call, PrefillBlock &block, std::int32_t tile,
                                 float (&scores)[perThread][perThread], LaneSums<slices> &sums)
{
    const std::int32_t x = static_cast<std::int32_t>(threadIdx.x) % tileSide;
    const std::int32_t y = static_cast<std::int32_t>(threadIdx.x) / tileSide;
#pragma unroll
    for (int i = 0; i < perThread; ++i) {
        const Lane lane = block.lanes[y + tileSide * i];
        const float before = sums.maximum[i];
        float largest = before;
#pragma unroll
        for (int j = 0; j < perThread; ++j) {
            const std::int32_t position = tile + x + tileSide * j;
            if (lane.sees(position)) {
                scores[i][j] = shapedScore(call.shape, lane.head, lane.end - 1 - position, scores[i][j]);
                largest = fmaxf(largest, scores[i][j]); // NaN is skipped
            }
        }
#pragma unroll
        for (int mask = tileSide / 2; mask > 0; mask /= 2)
            largest = fmaxf(largest, __shfl_xor_sync(allLanes, largest, mask));
        float sum = 0.0F;
#pragma unroll
        for (int j = 0; j < perThread; ++j) {
            const bool isSeen = lane.sees(tile + x + tileSide * j);
            const float weight = isSeen ? expf(scores[i][j] - largest) : 0.0F;
            block.weights[y + tileSide * i][x + tileSide * j] = weight;
            sum += weight;
        }
#pragma unroll
        for (int mask = tileSide / 2; mask > 0; mask /= 2)
            sum += __shfl_xor_sync(allLanes, sum, mask);
        const float factor = before == -INFINITY ? 0.0F : expf(before - largest);
        sums.maximum[i] = largest;
        sums.total[i] = fmaf(sums.total[i], factor, sum);
#pragma unroll
        for (int k = 0; k < slices; ++k) {
#pragma unroll
            for (int c = 0; c < 4; ++c)
                sums.values[i][k][c] *= factor;
        }
    }
}

/// Columns [column, column + valueColumns) of the values; 0 behind the last.
__device__ inline void readValues(const PrefillCall &call, PrefillBlock &block, std::int32_t column)
{
    const std::int32_t line = static_cast<std::int32_t>(threadIdx.x) / 4;
    for (std::int32_t offset = static_cast<std::int32_t>(threadIdx.x) % 4 * 8; offset < valueColumns;
         offset += 32) {
        float values[8] = {};
        if (column + offset < call.view.valueSize)
            readEight(call.view.valueType, call.view.values + block.valuePlaces[line], column + offset,
                      values);
        writeEight(values, &block.values[line][offset]);
    }
}

/// sums += weights · values. `common`: every lane sees every position; else what a lane does not see is left
/// out, as it may be infinite.
template <bool common>
__device__ inline void addSlice(const PrefillBlock &block, float (&sums)[perThread][4])
{
    const std::int32_t x = static_cast<std::int32_t>(threadIdx.x) % tileSide;
    const std::int32_t y = static_cast<std::int32_t>(threadIdx.x) / tileSide;
    const auto add = [](float weight, float4 value, float(&sum)[4]) {
        if (common || weight != 0.0F) {
            sum[0] = fmaf(weight, value.x, sum[0]);
            sum[1] = fmaf(weight, value.y, sum[1]);
            sum[2] = fmaf(weight, value.z, sum[2]);
            sum[3] = fmaf(weight, value.w, sum[3]);
        }
    };
#pragma unroll 2
    for (std::int32_t p = 0; p < tilePositions; p += 4) {
        float4 value[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            value[i] = *reinterpret_cast<const float4 *>(&block.values[p + i][4 * x]);
#pragma unroll
        for (int i = 0; i < perThread; ++i) {
            const float4 weight = *reinterpret_cast<const float4 *>(&block.weights[y + tileSide * i][p]);
            add(weight.x, value[0], sums[i]);
            add(weight.y, value[1], sums[i]);
            add(weight.z, value[2], sums[i]);
            add(weight.w, value[3], sums[i]);
        }
    }
}

} // namespace tokenloupe::cuda
