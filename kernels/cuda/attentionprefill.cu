// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/attentionprefill.h"

#include "kernels/cuda/attentioncheck.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/prefilltile.cuh"

// Prefill attention in float32, a tile of positions after the other; see prefilltile.cuh.

namespace tokenloupe::cuda {

namespace {

template <int slices>
__device__ void writeOutput(const PrefillCall &call, const PrefillBlock &block, const LaneSums<slices> &sums)
{
    const std::int32_t x = static_cast<std::int32_t>(threadIdx.x) % tileSide;
    const std::int32_t y = static_cast<std::int32_t>(threadIdx.x) / tileSide;
#pragma unroll
    for (int i = 0; i < perThread; ++i) {
        const Lane lane = block.lanes[y + tileSide * i];
        if (lane.row < 0)
            continue;
        const float inverse = 1.0F / sums.total[i];
        float *out =
            call.output.data + lane.row * call.output.stride + std::int64_t(lane.head) * call.view.valueSize;
#pragma unroll
        for (int k = 0; k < slices; ++k) {
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const std::int32_t column = valueColumns * k + 4 * x + c;
                if (column < call.view.valueSize)
                    out[column] = sums.values[i][k][c] * inverse;
            }
        }
    }
}

/// `slices`: of 64 columns of the values.
template <int slices>
__global__ void __launch_bounds__(prefillThreads) prefillKernel(PrefillCall call)
{
    followPrevious();
    auto &block = sharedMemory<PrefillBlock>();
    if (threadIdx.x < prefillLanes)
        block.lanes[threadIdx.x] = laneOf(call, static_cast<std::int32_t>(threadIdx.x));
    LaneSums<slices> sums;
#pragma unroll
    for (int i = 0; i < perThread; ++i) {
        sums.maximum[i] = -INFINITY;
        sums.total[i] = 0.0F;
#pragma unroll
        for (int k = 0; k < 4 * slices; ++k)
            sums.values[i][k / 4][k % 4] = 0.0F;
    }
    const SeenSpan seen = seenSpanOf(call);
    for (std::int32_t tile = seen.begin / tilePositions * tilePositions; tile < seen.end;
         tile += tilePositions) {
        // note: nobody reads the places of the tile before any more, see the barriers of its values.
        placeRows(call, block, tile, seen);
        float scores[perThread][perThread] = {};
        for (std::int32_t column = 0; column < call.view.keySize; column += scoreColumns) {
            __syncthreads();
            readSlice(call, block, tile, seen, column);
            __syncthreads();
            scoreSlice(block, scores);
        }
        weighTile(call, block, tile, scores, sums);
        const bool isCommon = seen.areCommon(tile, tilePositions);
#pragma unroll
        for (int k = 0; k < slices; ++k) {
            if (valueColumns * k >= call.view.valueSize)
                continue;
            __syncthreads();
            readValues(call, block, valueColumns * k);
            __syncthreads();
            float part[perThread][4];
#pragma unroll
            for (int i = 0; i < 4 * perThread; ++i)
                part[i / 4][i % 4] = sums.values[i / 4][k][i % 4];
            if (isCommon)
                addSlice<true>(block, part);
            else
                addSlice<false>(block, part);
#pragma unroll
            for (int i = 0; i < 4 * perThread; ++i)
                sums.values[i / 4][k][i % 4] = part[i / 4][i % 4];
        }
    }
    writeOutput(call, block, sums);
}

} // namespace

cudaError_t attendPrefill(DeviceRows queries, const KvLayerView &view, const AttentionShape &shape,
                          std::int32_t tensorCores, const StepState *state, DeviceRows output,
                          cudaStream_t stream)
{
    if (!isAttention(queries, view, shape, state) || !areHeads(output, shape.heads, view.valueSize) ||
        output.rows != queries.rows)
        return cudaErrorInvalidValue;
    const PrefillPlan plan = planPrefill(shape, view, queries.rows);
    if (plan.grid.y > largestGridYZ)
        return cudaErrorInvalidValue;
    if (tensorCores != 0 && view.keySize <= largestTensorHead && view.valueSize <= largestTensorHead)
        return attendPrefillTensor(queries, view, shape, state, output, stream);
    const LaunchShape blocks{plan.grid, dim3(prefillThreads), sizeof(PrefillBlock)};
    const PrefillCall call{queries, view, shape, plan.lanes, state, output};
    auto *kernel = view.valueSize <= valueColumns       ? prefillKernel<1>
                   : view.valueSize <= 2 * valueColumns ? prefillKernel<2>
                   : view.valueSize <= 4 * valueColumns ? prefillKernel<4>
                                                        : prefillKernel<8>;
    return launch(kernel, blocks, stream, call);
}

} // namespace tokenloupe::cuda
