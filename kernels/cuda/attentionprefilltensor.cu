// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/attentionprefill.h"

#include "kernels/cuda/launch.h"
#include "kernels/cuda/prefilllanes.cuh"
#include "kernels/cuda/tensorread.cuh"

// A warp computes 16 of the block's 64 lanes: scores of a tile of positions as products of queries and keys
// in shared memory, and from the weights, which stay in registers, products with the values. Queries, keys,
// values and weights are rounded to binary16. A value that is NaN spreads to all rows of its tile.

namespace tokenloupe::cuda {

namespace {

#if !defined(__CUDACC__) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800)

constexpr unsigned wholeWarp = 0xFFFFFFFFU;
constexpr float log2OfE = 1.44269504F;

/// What a thread keeps of its two lanes.
template <int valueTiles>
struct TensorSums
{
    Lane lanes[2];
    float maximum[2];
    float total[2];
    float values[valueTiles][4];
};

/// scores = queries of the warp's lanes · keys of the tile.
template <int positions>
__device__ __forceinline__ void scoreTile(const TensorPlaces &at, std::int32_t steps,
                                          float (&scores)[positions / 8][4])
{
    const auto thread = static_cast<std::int32_t>(threadIdx.x % 32);
    const std::uint32_t *query =
        at.queries + (threadIdx.x / 32 * 16 + thread / 4) * at.keyStride + thread % 4;
    const std::uint32_t *key = at.keys + thread / 4 * at.keyStride + thread % 4;
    for (std::int32_t step = 0; step < steps; ++step, query += 8, key += 8) {
        TensorA a;
        a.words[0] = query[0];
        a.words[1] = query[8 * at.keyStride];
        a.words[2] = query[4];
        a.words[3] = query[8 * at.keyStride + 4];
#pragma unroll
        for (int n = 0; n < positions / 8; ++n) {
            TensorB b;
            b.words[0] = key[8 * n * at.keyStride];
            b.words[1] = key[8 * n * at.keyStride + 4];
            addTensorProduct(scores[n], a, b);
        }
    }
}

/// Scores become weights relative to the largest so far; what was summed up before is made relative to it
/// too. The four threads of a lane are neighbours.
template <int positions, int valueTiles>
__device__ __forceinline__ void weighTile(const AttentionShape &shape, std::int32_t tile, bool isCommon,
                                          float (&scores)[positions / 8][4], TensorSums<valueTiles> &sums)
{
    const std::int32_t column = 2 * static_cast<std::int32_t>(threadIdx.x % 4);
    const bool isShaped = shape.softCap > 0.0F || shape.slopes;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const Lane lane = sums.lanes[i];
        const float before = sums.maximum[i];
        float largest = before;
#pragma unroll
        for (int n = 0; n < positions / 8; ++n) {
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                const std::int32_t position = tile + 8 * n + column + c;
                float &score = scores[n][2 * i + c];
                if (!isCommon && !lane.sees(position))
                    score = -INFINITY;
                else if (isShaped)
                    score = shapedScore(shape, lane.head, lane.end - 1 - position, score);
                largest = fmaxf(largest, score); // NaN is skipped
            }
        }
        largest = fmaxf(largest, __shfl_xor_sync(wholeWarp, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(wholeWarp, largest, 2));
        // A lane that has seen nothing yet: all its weights are 0.
        const float offset = largest == -INFINITY ? 0.0F : largest * log2OfE;
        float sum = 0.0F;
#pragma unroll
        for (int n = 0; n < positions / 8; ++n) {
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                float &score = scores[n][2 * i + c];
                score = exp2f(fmaf(score, log2OfE, -offset));
                sum += score;
            }
        }
        sum += __shfl_xor_sync(wholeWarp, sum, 1);
        sum += __shfl_xor_sync(wholeWarp, sum, 2);
        // note: exactly 1 where the tile brings nothing larger.
        const float factor = before == -INFINITY ? 0.0F : exp2f((before - largest) * log2OfE);
        sums.maximum[i] = largest;
        sums.total[i] = fmaf(sums.total[i], factor, sum);
#pragma unroll
        for (int n = 0; n < valueTiles; ++n) {
            sums.values[n][2 * i] *= factor;
            sums.values[n][2 * i + 1] *= factor;
        }
    }
}

/// sums += weights · values of the tile. Two tiles of scores are laid out as one of weights has to be.
template <int positions, int valueTiles>
__device__ __forceinline__ void addValues(const TensorPlaces &at, std::int32_t valueSize,
                                          const float (&weights)[positions / 8][4],
                                          TensorSums<valueTiles> &sums)
{
    const auto thread = static_cast<std::int32_t>(threadIdx.x % 32);
    const std::uint32_t *value = at.values + thread % 4 * at.valueStride + thread / 4;
#pragma unroll
    for (int step = 0; step < positions / 16; ++step) {
        TensorA a;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float *pair = &weights[2 * step + i / 2][i % 2 * 2];
            a.words[i] = packHalves(pair[0], pair[1]);
        }
#pragma unroll
        for (int n = 0; n < valueTiles; ++n) {
            if (8 * n >= valueSize)
                continue;
            TensorB b;
            b.words[0] = value[8 * step * at.valueStride + 8 * n];
            b.words[1] = value[(8 * step + 4) * at.valueStride + 8 * n];
            addTensorProduct(sums.values[n], a, b);
        }
    }
}

template <int valueTiles>
__device__ void writeOutput(const PrefillCall &call, const TensorSums<valueTiles> &sums)
{
    const std::int32_t first = 2 * static_cast<std::int32_t>(threadIdx.x % 4);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const Lane lane = sums.lanes[i];
        if (lane.row < 0)
            continue;
        const float inverse = 1.0F / sums.total[i];
        float *out = call.output.data + lane.row * call.output.stride +
                     std::int64_t(lane.head) * call.view.valueSize + first;
#pragma unroll
        for (int n = 0; n < valueTiles; ++n) {
            if (8 * n >= call.view.valueSize)
                continue;
            out[8 * n] = sums.values[n][2 * i] * inverse;
            out[8 * n + 1] = sums.values[n][2 * i + 1] * inverse;
        }
    }
}

/// Tiles of `positions`; `valueTiles` times eight columns of values.
template <int positions, int valueTiles>
__device__ __forceinline__ void prefillTensor(const PrefillCall &call)
{
    auto &block = sharedMemory<TensorBlock>();
    const TensorPlaces at = placesBehind(block, call.view.keySize, valueTiles, positions);
    if (threadIdx.x < prefillLanes)
        block.lanes[threadIdx.x] = laneOf(call, static_cast<std::int32_t>(threadIdx.x));
    __syncthreads();
    readQueries(call, block, at);
    TensorSums<valueTiles> sums;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        sums.lanes[i] = block.lanes[threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + 8 * i];
        sums.maximum[i] = -INFINITY;
        sums.total[i] = 0.0F;
    }
#pragma unroll
    for (int n = 0; n < 4 * valueTiles; ++n)
        sums.values[n / 4][n % 4] = 0.0F;
    const SeenSpan seen = seenSpanOf(call);
    for (std::int32_t tile = seen.begin / positions * positions; tile < seen.end; tile += positions) {
        placeTensorRows(call, block, tile, positions, seen);
        __syncthreads();
        const bool isCommon = seen.areCommon(tile, positions);
        readKeys(call, block, at, tile, positions, seen);
        readValues(call, block, at, positions, isCommon);
        __syncthreads();
        float scores[positions / 8][4];
#pragma unroll
        for (int n = 0; n < positions / 2; ++n)
            scores[n / 4][n % 4] = 0.0F;
        scoreTile<positions>(at, ceilDivide(call.view.keySize, 16), scores);
        weighTile<positions>(call.shape, tile, isCommon, scores, sums);
        addValues<positions>(at, call.view.valueSize, scores, sums);
    }
    writeOutput(call, sums);
}

#endif

template <int positions, int valueTiles>
__global__ void __launch_bounds__(tensorThreads) prefillTensorKernel(PrefillCall call)
{
    followPrevious();
#if !defined(__CUDACC__) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800)
    prefillTensor<positions, valueTiles>(call);
#endif
}

template <int positions, int valueTiles>
cudaError_t launchTensor(const PrefillPlan &plan, const PrefillCall &call, cudaStream_t stream)
{
    const LaunchShape blocks{plan.grid, dim3(tensorThreads),
                             tensorSharedBytes(call.view.keySize, valueTiles, positions)};
    return launch(prefillTensorKernel<positions, valueTiles>, blocks, stream, call);
}

} // namespace

cudaError_t attendPrefillTensor(DeviceRows queries, const KvLayerView &view, const AttentionShape &shape,
                                const StepState *state, DeviceRows output, cudaStream_t stream)
{
    const PrefillPlan plan = planPrefill(shape, view, queries.rows);
    const PrefillCall call{queries, view, shape, plan.lanes, state, output};
    const std::int32_t largest = view.keySize > view.valueSize ? view.keySize : view.valueSize;
    if (largest <= 64)
        return launchTensor<64, 8>(plan, call, stream);
    if (largest <= 128)
        return launchTensor<64, 16>(plan, call, stream);
    return launchTensor<32, 32>(plan, call, stream);
}

} // namespace tokenloupe::cuda
