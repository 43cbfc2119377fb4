// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/exactproduct.cuh"
#include "kernels/cuda/plainunits.cuh"
#include "kernels/cuda/rowdecode.cuh"

// Float32, binary16 and bfloat16 weights times float32 activations: a lane's step is 16 bytes of each weight
// row of its group. Rows are padded with zeros to whole steps; where columns end inside one, the activations
// behind them count as zero and are not read.

namespace tokenloupe::cuda {

template <int count>
__device__ inline void loadInput(const DeviceRows &input, std::int32_t isVector, std::int32_t row,
                                 std::int32_t column, float (&x)[count])
{
    const float *data = input.data + row * input.stride + column;
    if (isVector != 0 && column + count <= input.columns) {
#pragma unroll
        for (int i = 0; i < count; i += 4) {
            const float4 four = *reinterpret_cast<const float4 *>(data + i);
            x[i] = four.x;
            x[i + 1] = four.y;
            x[i + 2] = four.z;
            x[i + 3] = four.w;
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < count; ++i)
        x[i] = column + i < input.columns ? data[i] : 0.0F;
}

template <class Plain, int inputRows>
__global__ void __launch_bounds__(productThreads) plainProductKernel(ExactProduct product)
{
    constexpr int count = groupRows * inputRows;
    const ProductBlock mine = productBlock(product.matrices);
    const ProductMatrix &matrix = product.matrices[mine.matrix];
    const ProductPlace place(mine.block, matrix.splitShift);
    const std::int32_t end = place.firstRow < matrix.rows ? product.steps : 0;
    const std::int32_t first = place.part * warpLanes + place.lane;
    const auto rowOfGroup = [&](int r) {
        return min(place.firstRow + r, static_cast<std::int64_t>(matrix.rows - 1));
    };
    if (!product.pairs.chosen && first < end) {
#pragma unroll
        for (int r = 0; r < groupRows; ++r)
            bringCloser(matrix.weights + rowOfGroup(r) * product.rowBytes + first * sizeof(uint4));
    }
    followPrevious();
    const std::int32_t pair = pairOfBlock(product.pairs);
    const std::byte *weights = weightsOf(product.pairs, pair, matrix);
    const DeviceRows input = inputOf(product, pair);
    float sums[count] = {};
    for (std::int32_t step = first; step < end; step += warpLanes << matrix.splitShift) {
        uint4 raw[groupRows];
#pragma unroll
        for (int r = 0; r < groupRows; ++r)
            raw[r] = loadStreaming<uint4>(weights + rowOfGroup(r) * product.rowBytes, step);
#pragma unroll
        for (int t = 0; t < inputRows; ++t) {
            if (inputRows > 1 && t >= input.rows)
                break;
            float x[Plain::values];
            loadInput(input, product.vectorInput, t, step * Plain::values, x);
#pragma unroll
            for (int r = 0; r < groupRows; ++r) {
                float w[Plain::values];
                decodePlain<Plain>(raw[r], w);
                float &sum = sums[r * inputRows + t];
#pragma unroll
                for (int i = 0; i < Plain::values; ++i)
                    sum = fmaf(w[i], x[i], sum);
            }
        }
    }
    float sum = 0.0F;
    const bool isWriter =
        finishSums(sums, place, matrix.splitShift, sharedMemory<ProductScratch<count>>(), sum);
    const int value = place.lane / (warpLanes / count);
    const std::int64_t row = place.firstRow + value / inputRows;
    const std::int32_t inputRow = value % inputRows;
    if (isWriter && row < matrix.rows && inputRow < input.rows)
        storeProduct(matrix, row, pair, inputRow, sum);
}

template <class Plain, int inputRows>
cudaError_t launchPlainProduct(const ExactProduct &product, cudaStream_t stream)
{
    return launchProducts(plainProductKernel<Plain, inputRows>, product, product.steps,
                          sizeof(ProductScratch<groupRows * inputRows>), stream);
}

/// A piece is 32 × unitColumns values, as with the types that have units.
template <class Plain>
__global__ void __launch_bounds__(productThreads) plainDecodeKernel(RowDecode call)
{
    followPrevious();
    const DecodePlace place(call.pieces);
    if (place.row >= call.rows)
        return;
    const auto *row = reinterpret_cast<const typename Plain::Stored *>(
        call.weights + sourceRow(call, place.row) * call.rowBytes);
    const std::int32_t first = place.piece * warpLanes * unitColumns;
    const std::int32_t end = min(first + warpLanes * unitColumns, call.columns);
#pragma unroll 8
    for (std::int32_t column = first + place.lane; column < end; column += warpLanes)
        storeDecoded(call, place.row * call.stride + column, Plain::decode(row[column]));
}

template <class Plain>
cudaError_t launchPlainDecode(const RowDecode &call, cudaStream_t stream)
{
    return launchDecode(plainDecodeKernel<Plain>, call, 0, stream);
}

} // namespace tokenloupe::cuda
