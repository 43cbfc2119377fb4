// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/attentioncheck.h"
#include "kernels/cuda/attentiondecode.cuh"
#include "kernels/cuda/attentionmerge.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/rounding.cuh"

namespace tokenloupe::cuda {

namespace {

/// Who is in the block, and the scaled queries.
template <int lanes>
__device__ void beginDecode(const DecodeCall &call, DecodeBlock<lanes> &block, float *queries)
{
    const LanePlan &plan = call.lanes;
    const std::int32_t rowTile = static_cast<std::int32_t>(blockIdx.z) / plan.headParts;
    const std::int32_t part = static_cast<std::int32_t>(blockIdx.z) - rowTile * plan.headParts;
    const auto kvHead = static_cast<std::int32_t>(blockIdx.y);
    if (threadIdx.x < lanes) {
        const auto lane = static_cast<std::int32_t>(threadIdx.x);
        const std::int32_t row = rowTile * plan.rowsOfTile + lane / plan.headsOfTile;
        const std::int32_t inGroup = part * plan.headsOfTile + lane % plan.headsOfTile;
        const bool isThere =
            lane / plan.headsOfTile < plan.rowsOfTile && row < call.queries.rows && inGroup < plan.group;
        const std::int32_t end = call.state->firstPosition + row + 1;
        const std::int32_t window = call.shape.window;
        block.row[lane] = isThere ? row : -1;
        block.head[lane] = isThere ? kvHead * plan.group + inGroup : 0;
        block.end[lane] = isThere ? end : 0;
        block.begin[lane] = isThere && window > 0 && end > window ? end - window : 0;
        block.factor[lane] = 0.0F;
        block.maximum[lane] = -INFINITY;
        block.total[lane] = 0.0F;
    }
    __syncthreads();
    const std::int32_t keySize = call.view.keySize;
    for (auto i = static_cast<std::int32_t>(threadIdx.x); i < lanes * keySize; i += decodeThreads) {
        const std::int32_t lane = i / keySize;
        const std::int32_t row = block.row[lane];
        queries[i] =
            row < 0 ? 0.0F
                    : call.shape.scale *
                          call.queries.data[row * call.queries.stride +
                                            std::int64_t(block.head[lane]) * keySize + (i - lane * keySize)];
    }
}

/// Positions that any of the block's lanes sees, of [begin, end).
struct PositionSpan
{
    std::int32_t begin = 0;
    std::int32_t end = 0;
};

template <int lanes>
__device__ PositionSpan seenOf(const DecodeBlock<lanes> &block, std::int64_t begin, std::int64_t end)
{
    std::int32_t first = 2147483647;
    std::int32_t last = 0;
    for (int l = 0; l < lanes; ++l) {
        if (block.end[l] == 0)
            continue;
        first = min(first, block.begin[l]);
        last = max(last, block.end[l]);
    }
    return {begin > first ? static_cast<std::int32_t>(begin) : first,
            end < last ? static_cast<std::int32_t>(end) : last};
}

/// Where the rows of the tile's positions lie. Those outside of the span take the place of its nearest, so
/// that they can be read like the others.
template <int lanes>
__device__ void placeRows(const DecodeCall &call, DecodeBlock<lanes> &block, std::int32_t first,
                          PositionSpan seen)
{
    if (threadIdx.x >= decodeTilePositions)
        return;
    const std::int32_t position = max(seen.begin, min(seen.end - 1, first + static_cast<int>(threadIdx.x)));
    const KvLayerView &view = call.view;
    block.keys[threadIdx.x] = kvPlace(view, position, view.keyBlockStride, view.keyRowBytes);
    block.values[threadIdx.x] = kvPlace(view, position, view.valueBlockStride, view.valueRowBytes);
}

/// Sums of all turns joined, to where attentionmerge.cu finds them.
template <int lanes>
__device__ void endDecode(const DecodeCall &call, const DecodeBlock<lanes> &block, float *area,
                          const float (&sums)[lanes][decodeColumns], std::int32_t turn, std::int32_t column,
                          std::int32_t turns)
{
    const std::int32_t valueSize = call.view.valueSize;
    if (turn < turns) {
        for (int l = 0; l < lanes; ++l) {
            for (int i = 0; i < decodeColumns; ++i)
                area[(turn * lanes + l) * valueSize + column + i] = sums[l][i];
        }
    }
    __syncthreads();
    for (auto i = static_cast<std::int32_t>(threadIdx.x); i < lanes * valueSize; i += decodeThreads) {
        const std::int32_t lane = i / valueSize;
        if (block.row[lane] < 0)
            continue;
        float sum = 0.0F;
        for (std::int32_t t = 0; t < turns; ++t)
            sum += area[t * lanes * valueSize + i];
        const std::int64_t place =
            (std::int64_t(block.row[lane]) * call.shape.heads + block.head[lane]) * call.stretches +
            blockIdx.x;
        call.sums[place * valueSize + (i - lane * valueSize)] = sum;
        if (i == lane * valueSize)
            call.stats[place] = make_float2(block.maximum[lane], block.total[lane]);
    }
}

/// Blocks that a multiprocessor runs at a time, so many that their registers suffice.
constexpr int decodeBlocksAtOnce(int lanes)
{
    return lanes == 1 ? 5 : lanes <= 4 ? 4 : lanes <= 8 ? 3 : 2;
}

/// One stretch of the context for the lanes of one block.
template <int lanes>
__global__ void __launch_bounds__(decodeThreads, decodeBlocksAtOnce(lanes)) decodeKernel(DecodeCall call)
{
    followPrevious();
    constexpr int columns = decodeColumns;
    // note: with eight lanes, four keys at a time leave too few registers for three blocks.
    constexpr int keysOfThread = lanes == 8 ? 2 : 4;
    auto &block = sharedMemory<DecodeBlock<lanes>>();
    auto *area = reinterpret_cast<float *>(&block + 1);

    if (blockIdx.x + blockIdx.y + blockIdx.z == 0 && threadIdx.x < static_cast<unsigned>(call.queries.rows))
        call.arrivals[threadIdx.x] = RowArrivals();
    const std::int32_t first = call.state->firstPosition;
    const Stretches stretches = stretchesOf(first, call.queries.rows, call.shape.window, call.stretches);
    const std::int64_t begin = stretches.begin(static_cast<std::int32_t>(blockIdx.x));
    if (begin >= std::int64_t(first) + call.queries.rows)
        return;
    beginDecode(call, block, area);
    const PositionSpan seen = seenOf(block, begin, begin + stretches.length);
    if (seen.begin >= seen.end)
        return;

    const KvLayerView &view = call.view;
    const std::byte *keys = view.keys + std::int64_t(blockIdx.y) * view.keyHeadStride;
    const std::byte *values = view.values + std::int64_t(blockIdx.y) * view.valueHeadStride;
    const ValueSplit split = splitValues(view.valueSize);
    const std::int32_t turn = static_cast<std::int32_t>(threadIdx.x) / split.pieces;
    const std::int32_t column = (static_cast<std::int32_t>(threadIdx.x) - turn * split.pieces) * columns;
    float sums[lanes][columns];
#pragma unroll
    for (int i = 0; i < lanes * columns; ++i)
        sums[i / columns][i % columns] = 0.0F;

    const std::int32_t firstTile = seen.begin / decodeTilePositions * decodeTilePositions;
    for (std::int32_t tile = firstTile; tile < seen.end; tile += decodeTilePositions) {
        placeRows(call, block, tile, seen);
        __syncthreads();
        if (call.shape.keyRotation.rotated > 0) {
            float *turnedKeys = area + lanes * view.keySize;
            for (int key = 0; key < decodeTilePositions; key += keySlots) {
                turnKeys(call, block, keys, tile, key, turnedKeys);
                ScoreKeys<lanes, 1> score{block, area, nullptr, turnedKeys, view.keySize, key};
                score.template run<KvElement::F32>();
                __syncthreads();
            }
        } else {
            for (int key = 0; key < decodeTilePositions; key += keysOfThread * keySlots) {
                ScoreKeys<lanes, keysOfThread> score{block, area, keys, nullptr, view.keySize, key};
                withKvType(view.keyType, score);
            }
            __syncthreads();
        }
        weighTile(block, call.shape, tile);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < lanes * columns; ++i)
            sums[i / columns][i % columns] *= block.factor[i / columns];
        if (turn < split.turns) {
            const std::int32_t end = min(seen.end - tile, decodeTilePositions);
            AddValues<lanes> add{block, values, column, turn, end, split.turns, sums};
            withKvType(view.valueType, add);
        }
        __syncthreads();
    }
    endDecode(call, block, area, sums, turn, column, split.turns);
}

/// Both kernels' call. False: wrong shapes.
bool prepare(DeviceRows queries, const KvLayerView &view, const AttentionShape &shape, const StepState *state,
             void *scratch, DecodePlan &plan, DecodeCall &call)
{
    if (!isAttention(queries, view, shape, state) || queries.rows > decodeRowsLimit || !scratch ||
        reinterpret_cast<std::uintptr_t>(scratch) % 16 != 0)
        return false;
    plan = planDecode(shape, view, queries.rows);
    if (plan.grid.y > largestGridYZ || plan.grid.z > largestGridYZ)
        return false;
    const std::int64_t parts = std::int64_t(queries.rows) * shape.heads * plan.stretches;
    call.queries = queries;
    call.view = view;
    call.shape = shape;
    call.lanes = plan.lanes;
    call.stretches = plan.stretches;
    call.state = state;
    call.sums = static_cast<float *>(scratch);
    call.stats = reinterpret_cast<float2 *>(call.sums + parts * view.valueSize);
    call.arrivals = reinterpret_cast<RowArrivals *>(call.stats + parts);
    return true;
}

/// What the second kernel writes to.
bool fits(const DeviceRows &output, const QuantizedRows &planes, const DecodeCall &call)
{
    return areHeads(output, call.shape.heads, call.view.valueSize) && output.rows == call.queries.rows &&
           (!planes.high || (canRound(planes, output.rows, output.columns) && rowPlane(output).isAligned));
}

cudaError_t startStretches(const DecodePlan &plan, const DecodeCall &call, cudaStream_t stream)
{
    auto *kernel = plan.laneLimit == 1   ? decodeKernel<1>
                   : plan.laneLimit == 4 ? decodeKernel<4>
                   : plan.laneLimit == 8 ? decodeKernel<8>
                                         : decodeKernel<16>;
    return launch(kernel, {plan.grid, dim3(decodeThreads), plan.sharedBytes}, stream, call);
}

} // namespace

std::uint64_t attentionScratchBytes(const AttentionShape &shape, const KvLayerView &view, std::int32_t rows)
{
    if (rows < 1 || shape.heads < 1 || view.kvHeads < 1 || shape.heads % view.kvHeads != 0)
        return 0;
    const DecodePlan plan = planDecode(shape, view, rows);
    const std::uint64_t parts =
        std::uint64_t(rows) * std::uint64_t(shape.heads) * std::uint64_t(plan.stretches);
    return parts * (sizeof(float2) + std::uint64_t(view.valueSize) * sizeof(float)) +
           std::uint64_t(rows) * sizeof(RowArrivals);
}

cudaError_t attendStretches(DeviceRows queries, const KvLayerView &view, const AttentionShape &shape,
                            const StepState *state, void *scratch, cudaStream_t stream)
{
    DecodePlan plan;
    DecodeCall call;
    if (!prepare(queries, view, shape, state, scratch, plan, call))
        return cudaErrorInvalidValue;
    return startStretches(plan, call, stream);
}

cudaError_t joinStretches(DeviceRows queries, const KvLayerView &view, const AttentionShape &shape,
                          const StepState *state, void *scratch, DeviceRows output, QuantizedRows quantized,
                          cudaStream_t stream)
{
    DecodePlan plan;
    DecodeCall call;
    if (!prepare(queries, view, shape, state, scratch, plan, call) || !fits(output, quantized, call))
        return cudaErrorInvalidValue;
    return mergeDecode(call, output, quantized, stream);
}

cudaError_t attendDecode(DeviceRows queries, const KvLayerView &view, const AttentionShape &shape,
                         const StepState *state, void *scratch, DeviceRows output, QuantizedRows quantized,
                         cudaStream_t stream)
{
    DecodePlan plan;
    DecodeCall call;
    if (!prepare(queries, view, shape, state, scratch, plan, call) || !fits(output, quantized, call))
        return cudaErrorInvalidValue;
    const cudaError_t started = startStretches(plan, call, stream);
    return started == cudaSuccess ? mergeDecode(call, output, quantized, stream) : started;
}

} // namespace tokenloupe::cuda
