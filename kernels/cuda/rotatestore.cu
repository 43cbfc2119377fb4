// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/attentioncheck.h"
#include "kernels/cuda/headrows.cuh"
#include "kernels/cuda/launch.h"

namespace tokenloupe::cuda {

namespace {

struct HeadBlock
{
    float kept[headRowWarps][largestAttentionHead];
};

__global__ void __launch_bounds__(32 * headRowWarps) headKernel(HeadJob job, std::int64_t heads)
{
    followPrevious();
    const std::int64_t number = std::int64_t(blockIdx.x) * headRowWarps + threadIdx.x / 32;
    if (number < heads)
        runHead(job, number, sharedMemory<HeadBlock>().kept[threadIdx.x / 32]);
}

cudaError_t launchHeads(const HeadJob &job, std::int64_t rows, cudaStream_t stream)
{
    const std::int64_t heads = rows * (std::int64_t(job.queryHeads) + job.keyHeads + job.valueHeads);
    if (heads == 0)
        return cudaSuccess;
    const std::int64_t blocks = headRowBlocks(heads);
    if (blocks > largestGridX)
        return cudaErrorInvalidValue;
    LaunchShape shape;
    shape.grid.x = static_cast<unsigned int>(blocks);
    shape.block.x = 32 * headRowWarps;
    shape.sharedBytes = sizeof(HeadBlock);
    return launch(headKernel, shape, stream, job, heads);
}

bool areWholeHeads(const DeviceRows &rows, std::int32_t headSize)
{
    return headSize >= 1 && headSize <= largestAttentionHead && rows.columns % headSize == 0 &&
           areHeads(rows, rows.columns / headSize, headSize);
}

bool areStorable(const DeviceRows &keys, const DeviceRows &values, const KvLayerView &view)
{
    return isLayerView(view) && keys.rows == values.rows && areHeads(keys, view.kvHeads, view.keySize) &&
           areHeads(values, view.kvHeads, view.valueSize);
}

HeadJob storeJob(DeviceRows keys, DeviceRows values, const KvLayerView &view, const StepState *state)
{
    HeadJob job;
    job.keys = keys;
    job.values = values;
    job.keyHeads = view.kvHeads;
    job.valueHeads = view.kvHeads;
    job.isStored = 1;
    job.view = view;
    job.state = state;
    return job;
}

} // namespace

cudaError_t rotateRows(DeviceRows queries, std::int32_t headSize, DeviceRows keys, const RotaryParams &rotary,
                       const StepState *state, cudaStream_t stream)
{
    if (!state || !isRotary(rotary, headSize) || (queries.data && !areWholeHeads(queries, headSize)) ||
        (keys.data && !areWholeHeads(keys, headSize)) ||
        (queries.data && keys.data && queries.rows != keys.rows))
        return cudaErrorInvalidValue;
    if (rotary.rotated == 0)
        return cudaSuccess;
    HeadJob job;
    job.queries = queries;
    job.keys = keys;
    job.queryHeads = queries.data ? queries.columns / headSize : 0;
    job.keyHeads = keys.data ? keys.columns / headSize : 0;
    job.querySize = headSize;
    job.rotary = rotary;
    job.view.keySize = headSize;
    job.state = state;
    return launchHeads(job, queries.data ? queries.rows : keys.rows, stream);
}

cudaError_t storeRows(DeviceRows keys, DeviceRows values, const KvLayerView &view, const StepState *state,
                      cudaStream_t stream)
{
    if (!state || !areStorable(keys, values, view))
        return cudaErrorInvalidValue;
    return launchHeads(storeJob(keys, values, view, state), keys.rows, stream);
}

cudaError_t rotateAndStore(DeviceRows queries, std::int32_t headSize, DeviceRows keys, DeviceRows values,
                           const RotaryParams &rotary, const KvLayerView &view, const StepState *state,
                           cudaStream_t stream)
{
    if (!state || !areStorable(keys, values, view) || headSize != view.keySize ||
        !areWholeHeads(queries, headSize) || queries.rows != keys.rows || !isRotary(rotary, headSize))
        return cudaErrorInvalidValue;
    HeadJob job = storeJob(keys, values, view, state);
    job.queries = queries;
    job.queryHeads = rotary.rotated > 0 ? queries.columns / headSize : 0;
    job.querySize = headSize;
    job.rotary = rotary;
    return launchHeads(job, keys.rows, stream);
}

} // namespace tokenloupe::cuda
