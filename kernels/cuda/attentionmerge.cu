// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/attentionmerge.h"

#include "kernels/cuda/launch.h"
#include "kernels/cuda/rounding.cuh"

#include <cmath>

namespace tokenloupe::cuda {

namespace {

constexpr std::int32_t mergeThreads = 128;
constexpr std::int32_t mergeColumns = 4; ///< of a thread

struct MergeBlock
{
    float factor[mergeThreads];
    float largest[mergeThreads / 32];
    float total[mergeThreads / 32];
    float sums[mergeThreads * mergeColumns];
    bool isLast;
};

/// Stretches that a row sees anything of: [begin, end).
struct StretchSpan
{
    std::int32_t begin = 0;
    std::int32_t end = 0;
};

__device__ StretchSpan seenStretches(const DecodeCall &call, std::int32_t row)
{
    const std::int32_t first = call.state->firstPosition;
    const std::int32_t window = call.shape.window;
    const Stretches stretches = stretchesOf(first, call.queries.rows, window, call.stretches);
    const std::int32_t last = first + row;
    const std::int32_t begin = window > 0 && last >= window ? last + 1 - window : 0;
    return {static_cast<std::int32_t>((begin - stretches.base) / stretches.length),
            static_cast<std::int32_t>((last - stretches.base) / stretches.length) + 1};
}

/// The largest of one value of each thread.
__device__ float largestOfBlock(float value, MergeBlock &block)
{
    for (int mask = 16; mask > 0; mask /= 2)
        value = fmaxf(value, __shfl_xor_sync(allLanes, value, mask));
    if (threadIdx.x % 32 == 0)
        block.largest[threadIdx.x / 32] = value;
    __syncthreads();
    for (int i = 0; i < mergeThreads / 32; ++i)
        value = fmaxf(value, block.largest[i]);
    return value;
}

/// Four columns that other blocks wrote during this launch: the first cache may not know them.
__device__ Four loadShared(const float *row, std::int32_t column, std::int32_t columns)
{
    if (column >= columns)
        return {};
    const float4 four = __ldcg(reinterpret_cast<const float4 *>(row + column));
    return {{four.x, four.y, four.z, four.w}};
}

/// The scale of a row needs all of its heads: the block that is last to get here rounds the row.
/// `largest`: bits of the largest magnitude that the thread wrote.
__device__ void roundWhenLast(const DecodeCall &call, std::int32_t row, const float *values,
                              std::uint32_t largest, const QuantizedRows &planes, MergeBlock &block)
{
    RowArrivals &arrivals = call.arrivals[row];
    largest = warpJoin(largest, Larger());
    if (threadIdx.x % warpLanes == 0)
        atomicMax(&arrivals.largest, largest);
    // What this block wrote is there for the others before it counts.
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        block.isLast = atomicAdd(&arrivals.heads, 1U) + 1 == static_cast<std::uint32_t>(call.shape.heads);
    __syncthreads();
    if (!block.isLast)
        return;
    __threadfence();
    const RowScale scale = rowScale(__ldcg(&arrivals.largest));
    if (threadIdx.x == 0)
        planes.scales[row] = scale.scale;
#pragma unroll 4
    for (std::int32_t first = 0; first < planes.columns; first += mergeThreads * mergeColumns) {
        const std::int32_t column = first + static_cast<std::int32_t>(threadIdx.x) * mergeColumns;
        roundFour(planes, row, column, loadShared(values, column, planes.columns), scale.inverse);
    }
}

/// One row and head a block: output = Σ factor · sums / Σ factor · total.
__global__ void __launch_bounds__(mergeThreads)
    mergeKernel(DecodeCall call, DeviceRows output, QuantizedRows planes)
{
    followPrevious();
    auto &block = sharedMemory<MergeBlock>();
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    const std::int32_t row = static_cast<std::int32_t>(blockIdx.x) / call.shape.heads;
    const std::int32_t head = static_cast<std::int32_t>(blockIdx.x) - row * call.shape.heads;
    const StretchSpan seen = seenStretches(call, row);
    const std::int64_t place = (std::int64_t(row) * call.shape.heads + head) * call.stretches;
    const float2 *stats = call.stats + place;
    const std::int32_t valueSize = call.view.valueSize;
    const float *sums = call.sums + place * valueSize;

    float largest = -INFINITY;
    for (std::int32_t s = seen.begin + thread; s < seen.end; s += mergeThreads)
        largest = fmaxf(largest, stats[s].x);
    largest = largestOfBlock(largest, block);

    // Threads take four columns each, and of the stretches every `turns`-th.
    const std::int32_t pieces = (valueSize + mergeColumns - 1) / mergeColumns;
    const std::int32_t turns = mergeThreads / pieces;
    const std::int32_t turn = thread / pieces;
    const std::int32_t column = (thread - turn * pieces) * mergeColumns;
    float sum[mergeColumns] = {};
    float total = 0.0F;
    for (std::int32_t first = seen.begin; first < seen.end; first += mergeThreads) {
        const std::int32_t count = min(seen.end - first, mergeThreads);
        if (thread < count) {
            const float2 stat = stats[first + thread];
            // A stretch of which the row sees nothing but -inf adds nothing.
            const float factor = stat.y == 0.0F ? 0.0F : expf(stat.x - largest);
            block.factor[thread] = factor;
            total = fmaf(factor, stat.y, total);
        }
        __syncthreads();
        for (std::int32_t s = turn; s < count && turn < turns; s += turns) {
            const float factor = block.factor[s];
            const float4 part =
                *reinterpret_cast<const float4 *>(sums + std::int64_t(first + s) * valueSize + column);
            sum[0] = fmaf(factor, part.x, sum[0]);
            sum[1] = fmaf(factor, part.y, sum[1]);
            sum[2] = fmaf(factor, part.z, sum[2]);
            sum[3] = fmaf(factor, part.w, sum[3]);
        }
        __syncthreads();
    }
    for (int mask = 16; mask > 0; mask /= 2)
        total += __shfl_xor_sync(allLanes, total, mask);
    if (thread % 32 == 0)
        block.total[thread / 32] = total;
#pragma unroll
    for (int i = 0; i < mergeColumns; ++i) {
        if (turn < turns)
            block.sums[turn * valueSize + column + i] = sum[i];
    }
    __syncthreads();
    float all = 0.0F;
    for (int i = 0; i < mergeThreads / 32; ++i)
        all += block.total[i];
    const float inverse = 1.0F / all;
    float *values = output.data + row * output.stride;
    float *out = values + std::int64_t(head) * valueSize;
    std::uint32_t bits = 0;
    for (std::int32_t c = thread; c < valueSize; c += mergeThreads) {
        float value = 0.0F;
        for (std::int32_t t = 0; t < turns; ++t)
            value += block.sums[t * valueSize + c];
        value *= inverse;
        out[c] = value;
        bits = Larger()(bits, magnitudeBits(value));
    }
    if (planes.high)
        roundWhenLast(call, row, values, bits, planes, block);
}

} // namespace

cudaError_t mergeDecode(const DecodeCall &call, DeviceRows output, QuantizedRows planes, cudaStream_t stream)
{
    LaunchShape shape;
    shape.grid.x = static_cast<unsigned int>(call.queries.rows * call.shape.heads);
    shape.block.x = mergeThreads;
    shape.sharedBytes = sizeof(MergeBlock);
    return launch(mergeKernel, shape, stream, call, output, planes);
}

} // namespace tokenloupe::cuda
