// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/attentioncheck.h"
#include "kernels/cuda/attentionplan.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/shapedscore.cuh"
#include "kernels/cuda/turnedkeys.cuh"

// A block for each row and head. Seldom asked for, so a thread scores a whole position by itself.

namespace tokenloupe::cuda {

namespace {

constexpr std::int32_t weightThreads = 128;
constexpr unsigned wholeWarp = 0xFFFFFFFFU;

struct WeightBlock
{
    float query[largestAttentionHead];
    float largest[weightThreads / 32];
    float total[weightThreads / 32];
};

struct WeightCall
{
    DeviceRows queries;
    KvLayerView view;
    AttentionShape shape;
    const StepState *state = nullptr;
    std::int32_t positions = 0;
    float *weights = nullptr; ///< (rows × heads × positions)
};

__device__ float largestOfBlock(float value, float *slots)
{
    for (int mask = 16; mask > 0; mask /= 2)
        value = fmaxf(value, __shfl_xor_sync(wholeWarp, value, mask));
    if (threadIdx.x % 32 == 0)
        slots[threadIdx.x / 32] = value;
    __syncthreads();
    for (int i = 0; i < weightThreads / 32; ++i)
        value = fmaxf(value, slots[i]);
    return value;
}

__device__ float sumOfBlock(float value, float *slots)
{
    for (int mask = 16; mask > 0; mask /= 2)
        value += __shfl_xor_sync(wholeWarp, value, mask);
    if (threadIdx.x % 32 == 0)
        slots[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0.0F;
    for (int i = 0; i < weightThreads / 32; ++i)
        sum += slots[i];
    return sum;
}

__device__ float scoreOf(const WeightCall &call, const float *query, std::int32_t kvHead,
                         std::int32_t position)
{
    const std::byte *row = keyRow(call.view, kvHead, position);
    float sum = 0.0F;
    for (std::int32_t c = 0; c < call.view.keySize; c += 8) {
        float key[8];
        readKeyEight(call.view, call.shape.keyRotation, row, c, position, key);
#pragma unroll
        for (int i = 0; i < 8; ++i)
            sum = fmaf(query[c + i], key[i], sum);
    }
    return sum;
}

__global__ void __launch_bounds__(weightThreads) weightKernel(WeightCall call)
{
    followPrevious();
    auto &block = sharedMemory<WeightBlock>();
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    const auto row = static_cast<std::int32_t>(blockIdx.x / static_cast<unsigned>(call.shape.heads));
    const std::int32_t head = static_cast<std::int32_t>(blockIdx.x) - row * call.shape.heads;
    const std::int32_t keySize = call.view.keySize;
    const float *query = call.queries.data + row * call.queries.stride + std::int64_t(head) * keySize;
    for (std::int32_t c = thread; c < keySize; c += weightThreads)
        block.query[c] = call.shape.scale * query[c];
    __syncthreads();

    const std::int32_t kvHead = head / (call.shape.heads / call.view.kvHeads);
    const std::int32_t end = call.state->firstPosition + row + 1;
    const std::int32_t begin = call.shape.window > 0 ? max(0, end - call.shape.window) : 0;
    float *weights = call.weights + std::int64_t(blockIdx.x) * call.positions;
    float largest = -INFINITY;
    // Every thread comes back to the positions that it wrote itself.
    for (std::int32_t position = thread; position < call.positions; position += weightThreads) {
        if (position < begin || position >= end) {
            weights[position] = 0.0F;
            continue;
        }
        const float score =
            shapedScore(call.shape, head, end - 1 - position, scoreOf(call, block.query, kvHead, position));
        weights[position] = score;
        largest = fmaxf(largest, score); // NaN is skipped
    }
    largest = largestOfBlock(largest, block.largest);
    float total = 0.0F;
    for (std::int32_t position = thread; position < min(end, call.positions); position += weightThreads) {
        if (position >= begin) {
            weights[position] = expf(weights[position] - largest);
            total += weights[position];
        }
    }
    const float inverse = 1.0F / sumOfBlock(total, block.total);
    for (std::int32_t position = thread; position < min(end, call.positions); position += weightThreads) {
        if (position >= begin)
            weights[position] *= inverse;
    }
}

} // namespace

cudaError_t attentionWeights(DeviceRows queries, const KvLayerView &view, const AttentionShape &shape,
                             const StepState *state, std::int32_t positions, float *weights,
                             cudaStream_t stream)
{
    if (!isAttention(queries, view, shape, state) || !weights || positions < queries.rows ||
        std::int64_t(queries.rows) * shape.heads > largestGridX)
        return cudaErrorInvalidValue;
    LaunchShape blocks;
    blocks.grid.x = static_cast<unsigned int>(queries.rows * shape.heads);
    blocks.block.x = weightThreads;
    blocks.sharedBytes = sizeof(WeightBlock);
    const WeightCall call{queries, view, shape, state, positions, weights};
    return launch(weightKernel, blocks, stream, call);
}

} // namespace tokenloupe::cuda
