// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/deviceviews.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/productmatrices.cuh"
#include "kernels/cuda/productsums.cuh"
#include "kernels/cuda/warptile.cuh"
#include "kernels/cuda/weightgroup.cuh"

// Weights times float32 activations. A weight becomes float32 with one rounding at most, and each product is
// one fused multiply-add to the sum of its lane. A lane's weights are 32 neighbouring columns, which would
// make its activations 128 bytes apart from its neighbour's: they come through a tile in shared memory.

namespace tokenloupe::cuda {

struct ExactProduct
{
    ProductMatrix matrices[mostProducts];
    ProductPairs pairs;
    std::int64_t rowBytes;    ///< of plain types
    std::int32_t steps;       ///< of a row: units, or words of 16 bytes
    std::int32_t vectorInput; ///< 1: rows of the input are aligned to 16 bytes
    DeviceRows input;
};

/// All rows, or the one of a pair.
__device__ inline DeviceRows inputOf(const ExactProduct &product, std::int32_t pair)
{
    DeviceRows input = product.input;
    if (product.pairs.chosen) {
        input.data += inputRowOf(product.pairs, pair) * input.stride;
        input.rows = 1;
    }
    return input;
}

__device__ inline void storeProduct(const ProductMatrix &matrix, std::int64_t row, std::int32_t pair,
                                    std::int32_t inputRow, float sum)
{
    *outputOf(matrix, pair, inputRow, row) = matrix.bias ? sum + matrix.bias[row] : sum;
}

/// Row `row` of the input, units [first, first + 32) as far as there are, into a warp's tile.
__device__ inline void fillTile(const DeviceRows &input, std::int32_t steps, std::int32_t row,
                                std::int32_t first, int lane, WarpTile &tile)
{
    const float4 *x = reinterpret_cast<const float4 *>(input.data + row * input.stride) +
                      static_cast<std::int64_t>(first) * WarpTile::groups;
    const int left = (steps - first) * WarpTile::groups;
#pragma unroll
    for (int i = 0; i < WarpTile::groups; ++i) {
        const int four = i * warpLanes + lane;
        if (four < left)
            tile.at(four / WarpTile::groups, four % WarpTile::groups) = x[four];
    }
}

template <int count, int tileCount>
struct ExactScratch
{
    ProductScratch<count> sums;
    WarpTile tiles[productWarps][tileCount];
};

/// Rows of the input whose tiles are there together.
template <int inputRows>
constexpr int tilesFor = inputRows < 2 ? inputRows : 2;

/// Rows [t, t + tiles) of the input: the lane's unit in `tiles` times its weights.
template <class Format, int inputRows>
__device__ inline void addTiles(std::int32_t rows, const WeightUnit (&weights)[groupRows], WarpTile *tiles,
                                int lane, int t, float (&sums)[groupRows * inputRows])
{
    constexpr int tileCount = tilesFor<inputRows>;
    // note: a loop in fact. Unrolled, all of the unit's weights would be decoded ahead, and spill.
#pragma unroll 1
    for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int j = 0; j < WarpTile::groups / 2; ++j) {
            float4 x[tileCount];
#pragma unroll
            for (int i = 0; i < tileCount; ++i)
                x[i] = tiles[t + i < rows ? i : 0].at(lane, WarpTile::groups / 2 * half + j);
#pragma unroll
            for (int r = 0; r < groupRows; ++r) {
                const std::uint32_t word = half != 0 ? weights[r].words[j + 4] : weights[r].words[j];
                float w[4];
                decodeWord<Format>(word, scaleOf<Format>(weights[r], half),
                                   offsetOf<Format>(weights[r], half), w);
#pragma unroll
                for (int i = 0; i < tileCount; ++i) {
                    float &sum = sums[r * inputRows + t + i];
                    sum = fmaf(w[0], x[i].x, sum);
                    sum = fmaf(w[1], x[i].y, sum);
                    sum = fmaf(w[2], x[i].z, sum);
                    sum = fmaf(w[3], x[i].w, sum);
                }
            }
        }
    }
}

/// note: with many rows the compiler would aim at three blocks at a time, and spill for it.
template <class Format, int inputRows>
__global__ void __launch_bounds__(productThreads, inputRows == 1 ? 0 : 2)
    exactProductKernel(ExactProduct product)
{
    constexpr int count = groupRows * inputRows;
    constexpr int tileCount = tilesFor<inputRows>;
    auto &scratch = sharedMemory<ExactScratch<count, tileCount>>();
    const ProductBlock mine = productBlock(product.matrices);
    const ProductMatrix &matrix = product.matrices[mine.matrix];
    const ProductPlace place(mine.block, matrix.splitShift);
    if (!product.pairs.chosen) {
        bringGroupCloser<Format>(planesAt(matrix.weights, matrix.offsets), place.firstRow, matrix.rows,
                                 product.steps, place.part * warpLanes + place.lane);
    }
    followPrevious();
    const std::int32_t pair = pairOfBlock(product.pairs);
    const DeviceRows input = inputOf(product, pair);
    const WeightPlanes planes = planesAt(weightsOf(product.pairs, pair, matrix), matrix.offsets);
    WarpTile *tiles = scratch.tiles[place.warp];
    float sums[count] = {};
    const std::int32_t end = place.firstRow < matrix.rows ? product.steps : 0;
    for (std::int32_t first = place.part * warpLanes; first < end; first += warpLanes << matrix.splitShift) {
        // Lanes and rows behind the end take the last unit and row, and leave their sums alone.
        const bool isInside = first + place.lane < product.steps;
        const std::int32_t unit = isInside ? first + place.lane : product.steps - 1;
        WeightUnit weights[groupRows];
        loadGroup<Format>(planes, place.firstRow, matrix.rows, product.steps, unit, weights);
#pragma unroll
        for (int t = 0; t < inputRows; t += tileCount) {
            if (inputRows > 1 && t >= input.rows)
                break;
            __syncwarp();
#pragma unroll
            for (int i = 0; i < tileCount; ++i) {
                if (t + i < input.rows)
                    fillTile(input, product.steps, t + i, first, place.lane, tiles[i]);
            }
            __syncwarp();
            if (!isInside)
                continue;
            addTiles<Format, inputRows>(input.rows, weights, tiles, place.lane, t, sums);
        }
    }
    float sum = 0.0F;
    const bool isWriter = finishSums(sums, place, matrix.splitShift, scratch.sums, sum);
    const int value = place.lane / (warpLanes / count);
    const std::int64_t row = place.firstRow + value / inputRows;
    const std::int32_t inputRow = value % inputRows;
    if (isWriter && row < matrix.rows && inputRow < input.rows)
        storeProduct(matrix, row, pair, inputRow, sum);
}

template <class Format, int inputRows>
cudaError_t launchExactProduct(const ExactProduct &product, cudaStream_t stream)
{
    return launchProducts(exactProductKernel<Format, inputRows>, product, product.steps,
                          sizeof(ExactScratch<groupRows * inputRows, tilesFor<inputRows>>), stream);
}

} // namespace tokenloupe::cuda
