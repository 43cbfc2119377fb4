// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/attentionplan.h"
#include "kernels/cuda/kvwrite.cuh"
#include "kernels/cuda/rotaryturn.cuh"

// One warp turns or stores one head of one token.

namespace tokenloupe::cuda {

/// What one launch does to heads. Parts without heads are left out.
struct HeadJob
{
    DeviceRows queries;
    DeviceRows keys;
    DeviceRows values;
    std::int32_t queryHeads = 0;
    std::int32_t keyHeads = 0;
    std::int32_t valueHeads = 0;
    std::int32_t querySize = 0;
    std::int32_t isStored = 0; ///< 1: keys and values go into the cache
    RotaryParams rotary;       ///< of queries and keys; rotated 0: they stay as they are
    KvLayerView view;
    const StepState *state = nullptr;
};

/// A head as each lane keeps its every 32nd value, turned. What lanes write they read themselves.
__device__ inline void readHead(const float *head, std::int32_t size, const RotaryParams &rotary,
                                std::int32_t position, float *kept)
{
    for (auto index = static_cast<std::int32_t>(threadIdx.x % 32); index < size; index += 32) {
        float value = head[index];
        if (index < rotary.rotated) {
            const PairPlace place = pairOf(rotary, index);
            value = turned(rotary, place, position, value, head[place.other]);
        }
        kept[index] = value;
    }
}

/// `count` values of what was read to where it came from.
__device__ inline void writeHead(const float *kept, std::int32_t count, float *head)
{
    __syncwarp(); // all have read what some now overwrite
    for (auto index = static_cast<std::int32_t>(threadIdx.x % 32); index < count; index += 32)
        head[index] = kept[index];
}

__device__ inline void storeHead(const float *kept, std::int32_t size, KvElement type, std::byte *row)
{
    const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
    for (std::int32_t first = 0; first < size; first += 32) {
        const float value = first + lane < size ? kept[first + lane] : 0.0F;
        writeValue(type, value, first + lane, size, row);
    }
}

/// One warp's head of the job. `kept`: shared memory for its values, the warp's own.
__device__ inline void runHead(const HeadJob &job, std::int64_t number, float *kept)
{
    const std::int32_t headsOfRow = job.queryHeads + job.keyHeads + job.valueHeads;
    const std::int64_t row = number / headsOfRow;
    auto head = static_cast<std::int32_t>(number - row * headsOfRow);
    const std::int32_t position = job.state->firstPosition + static_cast<std::int32_t>(row);
    const KvLayerView &view = job.view;
    if (head < job.queryHeads) {
        float *data = job.queries.data + row * job.queries.stride + std::int64_t(head) * job.querySize;
        readHead(data, job.querySize, job.rotary, position, kept);
        writeHead(kept, job.rotary.rotated, data);
        return;
    }
    head -= job.queryHeads;
    const bool isKey = head < job.keyHeads;
    if (!isKey)
        head -= job.keyHeads;
    const std::int32_t size = isKey ? view.keySize : view.valueSize;
    float *data = isKey ? job.keys.data + row * job.keys.stride : job.values.data + row * job.values.stride;
    data += std::int64_t(head) * size;
    RotaryParams rotary = job.rotary;
    if (!isKey)
        rotary.rotated = 0;
    readHead(data, size, rotary, position, kept);
    if (rotary.rotated > 0)
        writeHead(kept, rotary.rotated, data);
    if (job.isStored == 0)
        return;
    std::byte *target = isKey ? view.keys + kvPlace(view, position, view.keyBlockStride, view.keyRowBytes) +
                                    std::int64_t(head) * view.keyHeadStride
                              : view.values +
                                    kvPlace(view, position, view.valueBlockStride, view.valueRowBytes) +
                                    std::int64_t(head) * view.valueHeadStride;
    storeHead(kept, size, isKey ? view.keyType : view.valueType, target);
}

} // namespace tokenloupe::cuda
