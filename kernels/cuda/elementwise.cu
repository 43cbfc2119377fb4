// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/rowops.h"
#include "kernels/cuda/rowvalues.cuh"

namespace tokenloupe::cuda {

namespace {

/// Every value of `target` becomes apply(value, the one of `input`); input's is 0 where there is no input.
template <class Apply>
__global__ void changeValuesKernel(RowPlane input, RowPlane target, std::int64_t columns, std::int32_t pieces,
                                   Apply apply)
{
    followPrevious();
    const auto rowPieces = static_cast<unsigned>(pieces);
    const std::int64_t row = blockIdx.x / rowPieces;
    const std::int64_t column = std::int64_t(blockIdx.x % rowPieces) * pieceColumns + 4 * threadIdx.x;
    if (column >= columns)
        return;
    float *to = target.data + row * target.stride;
    Four values = loadFour(to, column, columns, target.isAligned);
    Four others = {};
    if (input.data)
        others = loadFour(input.data + row * input.stride, column, columns, input.isAligned);
    for (int k = 0; k < 4; ++k)
        values.value[k] = apply(values.value[k], others.value[k]);
    storeFour(to, column, columns, target.isAligned, values);
}

template <class Apply>
cudaError_t change(DeviceRows input, DeviceRows target, Apply apply, cudaStream_t stream)
{
    if (!target.data || target.stride < target.columns)
        return cudaErrorInvalidValue;
    std::int32_t rows = target.rows;
    std::int64_t columns = target.columns;
    const bool isOneRow = target.stride == target.columns && (!input.data || input.stride == input.columns);
    if (isOneRow && rows > 0) { // short rows would leave most of a block idle
        columns *= rows;
        rows = 1;
    }
    const PieceLaunch shape = pieceLaunch(rows, columns);
    if (shape.shape.grid.x == 0)
        return cudaErrorInvalidValue;
    return launch(changeValuesKernel<Apply>, shape.shape, stream, rowPlane(input), rowPlane(target), columns,
                  shape.pieces, apply);
}

struct Sum
{
    __device__ float operator()(float value, float other) const { return value + other; }
};

struct Scaled
{
    float factor;
    __device__ float operator()(float value, float) const { return value * factor; }
};

/// NaN stays NaN.
struct Clamped
{
    float limit;
    __device__ float operator()(float value, float) const
    {
        const float atMost = limit < value ? limit : value;
        return atMost < -limit ? -limit : atMost;
    }
};

struct SoftCapped
{
    float cap;
    __device__ float operator()(float value, float) const { return cap * tanhf(value / cap); }
};

} // namespace

cudaError_t addRows(DeviceRows input, DeviceRows target, cudaStream_t stream)
{
    if (!input.data || input.rows != target.rows || input.columns != target.columns ||
        input.stride < input.columns)
        return cudaErrorInvalidValue;
    return change(input, target, Sum(), stream);
}

cudaError_t scaleRows(DeviceRows values, float factor, cudaStream_t stream)
{
    return change(DeviceRows(), values, Scaled{factor}, stream);
}

cudaError_t clampRows(DeviceRows values, float limit, cudaStream_t stream)
{
    return change(DeviceRows(), values, Clamped{limit}, stream);
}

cudaError_t softCapRows(DeviceRows values, float cap, cudaStream_t stream)
{
    return change(DeviceRows(), values, SoftCapped{cap}, stream);
}

} // namespace tokenloupe::cuda
