// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/deviceviews.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/productmatrices.cuh"
#include "kernels/cuda/productsums.cuh"
#include "kernels/cuda/weightgroup.cuh"

// Weights times 15-bit activations. For each unit of 32 columns a lane loads the weights once (10 to 34
// bytes) and, for each row of activations, 64 bytes of codes and 8 of sums, which its group of weight rows
// shares. Two dp4a for each four weights; the sum of a unit (of 16 columns where these have scales of their
// own) is a whole number, and one fused multiply-add takes it to the row's sum.

namespace tokenloupe::cuda {

struct QuantizedProduct
{
    ProductMatrix matrices[mostProducts];
    ProductPairs pairs;
    std::int32_t units; ///< of a row
    QuantizedRows input;
};

/// One unit of a row of activations.
struct ActivationUnit
{
    std::uint32_t high[8];
    std::uint32_t low[8];
    int2 sums;
};

__device__ inline void loadActivations(const QuantizedRows &rows, std::int32_t row, std::int32_t unit,
                                       ActivationUnit &out)
{
    const std::int64_t first = static_cast<std::int64_t>(row) * rows.columns + unit * unitColumns;
    const uint4 *high = reinterpret_cast<const uint4 *>(rows.high + first);
    const uint4 *low = reinterpret_cast<const uint4 *>(rows.low + first);
    unpackBytes(high[0], high[1], out.high);
    unpackBytes(low[0], low[1], out.low);
    out.sums = *reinterpret_cast<const int2 *>(rows.sums + first / 16);
}

/// Σ code · activation over words [4 · half, 4 · half + 4), less the codes' zero.
template <class Format>
__device__ inline std::int32_t halfProduct(const WeightUnit &weights, const ActivationUnit &x, int half)
{
    std::int32_t high = 0;
    std::int32_t low = 0;
#pragma unroll
    for (int j = 4 * half; j < 4 * half + 4; ++j) {
        const auto codes = static_cast<std::int32_t>(weights.words[j]);
        high = __dp4a(codes, static_cast<std::int32_t>(x.high[j]), high);
        low = __dp4a(codes, static_cast<std::int32_t>(x.low[j]), low);
    }
    return high * 128 + low - Format::zero * (half == 0 ? x.sums.x : x.sums.y);
}

template <class Format>
__device__ inline float addProduct(const WeightUnit &weights, const ActivationUnit &x, float sum)
{
    const std::int32_t first = halfProduct<Format>(weights, x, 0);
    const std::int32_t second = halfProduct<Format>(weights, x, 1);
    if (Format::hasFloatHalves) {
        sum = fmaf(static_cast<float>(first), weights.d, sum);
        sum = fmaf(static_cast<float>(second), weights.secondD, sum);
    } else if (Format::hasHalves) {
        sum = fmaf(static_cast<float>(first * weights.scale[0] + second * weights.scale[1]), weights.d, sum);
    } else {
        sum = fmaf(static_cast<float>((first + second) * weights.scale[0]), weights.d, sum);
    }
    if (Format::hasOffset) {
        const std::int32_t offsets = Format::hasHalves
                                         ? x.sums.x * weights.minimum[0] + x.sums.y * weights.minimum[1]
                                         : (x.sums.x + x.sums.y) * weights.minimum[0];
        sum = fmaf(static_cast<float>(offsets), weights.offset, sum);
    }
    return sum;
}

/// Row r of the group times row firstInput + t of the activations is sums[r · inputRows + t].
template <class Format, int inputRows>
__device__ inline void addUnits(const QuantizedProduct &product, const WeightPlanes &planes,
                                std::int64_t firstRow, std::int32_t rows, std::int32_t firstInput,
                                std::int32_t unit, float (&sums)[groupRows * inputRows])
{
    WeightUnit weights[groupRows];
    loadGroup<Format>(planes, firstRow, rows, product.units, unit, weights);
#pragma unroll
    for (int t = 0; t < inputRows; ++t) {
        if (inputRows > 1 && t >= product.input.rows)
            break;
        ActivationUnit x;
        loadActivations(product.input, firstInput + t, unit, x);
#pragma unroll
        for (int r = 0; r < groupRows; ++r)
            sums[r * inputRows + t] = addProduct<Format>(weights[r], x, sums[r * inputRows + t]);
    }
}

template <class Format, int inputRows>
__global__ void __launch_bounds__(productThreads, inputRows <= 2 ? 4 : 3)
    quantizedProductKernel(QuantizedProduct product)
{
    constexpr int count = groupRows * inputRows;
    const ProductBlock mine = productBlock(product.matrices);
    const ProductMatrix &matrix = product.matrices[mine.matrix];
    const ProductPlace place(mine.block, matrix.splitShift);
    const std::int32_t first = place.part * warpLanes + place.lane;
    if (!product.pairs.chosen) {
        bringGroupCloser<Format>(planesAt(matrix.weights, matrix.offsets), place.firstRow, matrix.rows,
                                 product.units, first);
    }
    followPrevious();
    // note: experts are for one row at a time, so that the other kernels know nothing of them.
    const std::int32_t pair = inputRows == 1 ? pairOfBlock(product.pairs) : 0;
    const std::int32_t firstInput = inputRows == 1 ? inputRowOf(product.pairs, pair) : 0;
    const std::byte *weights = inputRows == 1 ? weightsOf(product.pairs, pair, matrix) : matrix.weights;
    const WeightPlanes planes = planesAt(weights, matrix.offsets);
    float sums[count] = {};
    if (place.firstRow < matrix.rows) {
        for (std::int32_t unit = first; unit < product.units; unit += warpLanes << matrix.splitShift)
            addUnits<Format, inputRows>(product, planes, place.firstRow, matrix.rows, firstInput, unit, sums);
    }
    float sum = 0.0F;
    const bool isWriter =
        finishSums(sums, place, matrix.splitShift, sharedMemory<ProductScratch<count>>(), sum);
    const int value = place.lane / (warpLanes / count);
    const std::int64_t row = place.firstRow + value / inputRows;
    const int t = value % inputRows;
    if (!isWriter || row >= matrix.rows || t >= product.input.rows)
        return;
    const float added = matrix.bias ? matrix.bias[row] : 0.0F;
    *outputOf(matrix, pair, t, row) = fmaf(sum, product.input.scales[firstInput + t], added);
}

template <class Format, int inputRows>
cudaError_t launchQuantizedProduct(QuantizedProduct product, cudaStream_t stream)
{
    return launchProducts(quantizedProductKernel<Format, inputRows>, product, product.units,
                          sizeof(ProductScratch<groupRows * inputRows>), stream);
}

} // namespace tokenloupe::cuda
