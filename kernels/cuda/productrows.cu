// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/productrows.h"

#include "kernels/cuda/rounding.cuh"
#include "kernels/cuda/rowdispatch.cuh"

#include <cuda_fp16.h>

namespace tokenloupe::cuda {

namespace {

/// 2^power for powers of normal numbers.
__device__ float powerOfTwo(int power)
{
    return __int_as_float((power + 127) << 23);
}

struct HalfScale
{
    float factor = 0.0F; ///< of the row
    float scale = 0.0F;  ///< of what comes out
};

/// Of a row whose largest magnitude has these bits.
__device__ HalfScale halfScale(std::uint32_t bits)
{
    const int largestPower = 14; // binary16 ends below 2^16
    const int power = largestPower - (static_cast<int>(bits >> 23) - 127);
    const int smaller = power < 126 ? power : 126; // of a row that is hardly there
    HalfScale scale;
    scale.factor = powerOfTwo(smaller);
    scale.scale = bits < 0x7F800000U ? powerOfTwo(-smaller) : __int_as_float(0x7FC00000);
    return scale;
}

__device__ void storeHalves(__half *row, std::int32_t column, std::int32_t columns, const Four &four,
                            float factor)
{
    for (int k = 0; k < 4; k += 2) {
        const __half first = __float2half_rn(four.value[k] * factor);
        const __half second = __float2half_rn(four.value[k + 1] * factor);
        if (column + k + 1 < columns)
            *reinterpret_cast<__half2 *>(row + column + k) = __halves2half2(first, second);
        else if (column + k < columns)
            row[column + k] = first;
    }
}

template <class Threads, int fours>
__global__ void __launch_bounds__(largestThreads)
    prefillScaleToHalfKernel(RowPlane input, std::int32_t rows, std::int32_t columns, __half *half,
                             std::int64_t stride, float *scales)
{
    followPrevious();
    const std::int32_t number = Threads::row();
    if (number >= rows)
        return; // a whole warp
    const float *data = input.data + number * input.stride;
    const auto load = [&](std::int32_t column) { return loadFour(data, column, columns, input.isAligned); };
    const KeptRow<Threads, fours> row(columns, load);
    std::uint32_t bits = 0;
    row.forEach(load, [&](std::int32_t, const Four &four) { bits = largestBits(bits, four); });
    const HalfScale scale = halfScale(Threads::largest(bits));
    if (Threads::thread() == 0)
        scales[number] = scale.scale;
    __half *out = half + number * stride;
    row.forEach(load, [&](std::int32_t column, const Four &four) {
        storeHalves(out, column, columns, four, scale.factor);
    });
}

__global__ void prefillFinishProductKernel(RowPlane target, std::int64_t columns, std::int32_t pieces,
                                           const float *scales, const float *bias, bool isBiasAligned)
{
    followPrevious();
    const auto rowPieces = static_cast<unsigned>(pieces);
    const std::int64_t row = blockIdx.x / rowPieces;
    const std::int64_t column = std::int64_t(blockIdx.x % rowPieces) * pieceColumns + 4 * threadIdx.x;
    if (column >= columns)
        return;
    float *to = target.data + row * target.stride;
    Four values = loadFour(to, column, columns, target.isAligned);
    const float scale = scales ? scales[row] : 1.0F;
    Four offsets = {};
    if (bias)
        offsets = loadFour(bias, column, columns, isBiasAligned);
    for (int k = 0; k < 4; ++k)
        values.value[k] = __fmul_rn(values.value[k], scale) + offsets.value[k];
    storeFour(to, column, columns, target.isAligned, values);
}

} // namespace

cudaError_t scaleToHalf(DeviceRows input, void *half, std::int64_t stride, float *scales, cudaStream_t stream)
{
    if (!input.data || input.stride < input.columns || !half || stride < input.columns || stride % 2 != 0 ||
        !isAligned(half, 4) || !scales)
        return cudaErrorInvalidValue;
    const RowLaunch shape = rowLaunch(input.rows, input.columns, sizeof(RowSlots));
    if (shape.shape.grid.x == 0)
        return cudaErrorInvalidValue;
    return dispatchRows(shape, [&](auto threads, auto fours) {
        return launch(prefillScaleToHalfKernel<decltype(threads), decltype(fours)::value>, shape.shape,
                      stream, rowPlane(input), input.rows, input.columns, static_cast<__half *>(half), stride,
                      scales);
    });
}

cudaError_t finishProduct(DeviceRows target, const float *scales, const float *bias, cudaStream_t stream)
{
    if (!target.data || target.stride < target.columns || (!scales && !bias))
        return cudaErrorInvalidValue;
    const PieceLaunch shape = pieceLaunch(target.rows, target.columns);
    if (shape.shape.grid.x == 0)
        return cudaErrorInvalidValue;
    return launch(prefillFinishProductKernel, shape.shape, stream, rowPlane(target),
                  std::int64_t(target.columns), shape.pieces, scales, bias, isAligned(bias, 16));
}

} // namespace tokenloupe::cuda
