// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/examplekernels.h"

namespace cudahost::test {

namespace {

using tokenloupe::cuda::ceilDivide;
using tokenloupe::cuda::followPrevious;
using tokenloupe::cuda::launch;
using tokenloupe::cuda::sharedMemory;

struct RowSums
{
    float ofWarp[32];
};

__device__ float sumOfWarp(float value)
{
#pragma unroll
    for (int delta = 16; delta > 0; delta /= 2)
        value += __shfl_xor_sync(0xFFFFFFFF, value, delta);
    return value;
}

__global__ void __launch_bounds__(1024)
    sumRowsKernel(const float *__restrict__ input, std::int32_t columns, float *__restrict__ output)
{
    followPrevious();
    auto &shared = sharedMemory<RowSums>();
    const float *row = input + static_cast<std::int64_t>(blockIdx.x) * columns;
    float sum = 0.0F;
    for (auto column = static_cast<std::int32_t>(threadIdx.x); column < columns; column += blockDim.x)
        sum += __ldg(row + column);
    sum = sumOfWarp(sum);
    if (threadIdx.x % 32 == 0)
        shared.ofWarp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32)
        return;
    sum = sumOfWarp(threadIdx.x < blockDim.x / 32 ? shared.ofWarp[threadIdx.x] : 0.0F);
    if (threadIdx.x == 0)
        output[blockIdx.x] = sum;
}

__global__ void addScaledKernel(const float *source, float factor, std::int64_t count, float *target)
{
    followPrevious();
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count)
        target[i] += factor * source[i];
}

} // namespace

cudaError_t sumRows(const float *input, std::int32_t rows, std::int32_t columns, float *output,
                    unsigned int threads, cudaStream_t stream)
{
    return launch(sumRowsKernel, {dim3(static_cast<unsigned int>(rows)), dim3(threads), sizeof(RowSums)},
                  stream, input, columns, output);
}

cudaError_t addScaled(const float *source, float factor, std::int64_t count, float *target,
                      cudaStream_t stream)
{
    const auto blocks = static_cast<unsigned int>(ceilDivide<std::int64_t>(count, 128));
    return launch(addScaledKernel, {dim3(blocks), dim3(128), 0}, stream, source, factor, count, target);
}

} // namespace cudahost::test
