// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/experts.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/productgeometry.h"

namespace tokenloupe::cuda {

namespace {

/// A thread for each column; blockIdx.x counts the blocks of all tokens.
__global__ void __launch_bounds__(productThreads)
    combineKernel(DeviceRows rows, const float *weights, std::int32_t used, std::int32_t columnBlocks,
                  DeviceRows output)
{
    followPrevious();
    const std::int64_t token = blockIdx.x / static_cast<unsigned>(columnBlocks);
    const std::int32_t column =
        static_cast<std::int32_t>(blockIdx.x % static_cast<unsigned>(columnBlocks)) * productThreads +
        static_cast<std::int32_t>(threadIdx.x);
    if (column >= output.columns)
        return;
    float sum = 0.0F;
    for (std::int64_t pair = token * used; pair < (token + 1) * used; ++pair)
        sum = fmaf(weights[pair], rows.data[pair * rows.stride + column], sum);
    output.data[token * output.stride + column] = sum;
}

} // namespace

cudaError_t combineExperts(DeviceRows rows, const float *weights, std::int32_t used, DeviceRows output,
                           cudaStream_t stream)
{
    if (!rows.data || !weights || !output.data || used < 1 || output.rows < 1 || output.columns < 1 ||
        rows.columns != output.columns || rows.rows % used != 0 || rows.rows / used != output.rows ||
        (rows.rows > 1 && rows.stride < rows.columns) || (output.rows > 1 && output.stride < output.columns))
        return cudaErrorInvalidValue;
    const std::int64_t columnBlocks = ceilDivide(output.columns, productThreads);
    const std::int64_t blocks = columnBlocks * output.rows;
    if (blocks > 0x7FFFFFFF)
        return cudaErrorInvalidValue;
    LaunchShape shape;
    shape.grid = dim3(static_cast<unsigned>(blocks));
    shape.block = dim3(productThreads);
    return launch(combineKernel, shape, stream, rows, weights, used, static_cast<std::int32_t>(columnBlocks),
                  output);
}

} // namespace tokenloupe::cuda
