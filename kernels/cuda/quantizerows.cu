// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/rounding.cuh"
#include "kernels/cuda/rowdispatch.cuh"
#include "kernels/cuda/rowops.h"

namespace tokenloupe::cuda {

namespace {

template <class Threads, int fours>
__global__ void __launch_bounds__(largestThreads)
    quantizeRowsKernel(RowPlane input, std::int32_t rows, std::int32_t columns, QuantizedRows planes)
{
    followPrevious();
    const std::int32_t number = Threads::row();
    if (number >= rows)
        return; // a whole warp
    const float *data = input.data + number * input.stride;
    const auto load = [&](std::int32_t column) { return loadFour(data, column, columns, input.isAligned); };
    const auto asItIs = [](std::int32_t, const Four &four) { return four; };
    const KeptRow<Threads, fours> row(columns, load);
    finishRow<Threads>(row, number, columns, RowPlane(), planes, load, asItIs);
}

} // namespace

cudaError_t quantizeRows(DeviceRows input, QuantizedRows output, cudaStream_t stream)
{
    if (!input.data || input.stride < input.columns || !canRound(output, input.rows, input.columns))
        return cudaErrorInvalidValue;
    const RowLaunch shape = rowLaunch(input.rows, input.columns, sizeof(RowSlots));
    if (shape.shape.grid.x == 0)
        return cudaErrorInvalidValue;
    return dispatchRows(shape, [&](auto threads, auto fours) {
        return launch(quantizeRowsKernel<decltype(threads), decltype(fours)::value>, shape.shape, stream,
                      rowPlane(input), input.rows, input.columns, output);
    });
}

} // namespace tokenloupe::cuda
