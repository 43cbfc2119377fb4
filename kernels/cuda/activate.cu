// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/rounding.cuh"
#include "kernels/cuda/rowdispatch.cuh"
#include "kernels/cuda/rowops.h"

namespace tokenloupe::cuda {

namespace {

template <RowActivation activation>
__device__ float activated(float value)
{
    if (activation == RowActivation::Silu)
        return value / (1.0F + expf(-value));
    if (activation == RowActivation::Gelu)
        return 0.5F * value * erfcf(value * -0.70710678118654752F); // Φ(v) = erfc(-v / √2) / 2
    // v / (1 + e^-2u), u = √(2/π) · (v + 0.044715 v³): the tanh form without its cancellation
    const float inner = fmaf(value * value, -0.0713548163F, -1.59576912F);
    return value / (1.0F + expf(value * inner));
}

struct ActivateCall
{
    RowPlane gate;
    RowPlane up;
    RowPlane output;
    QuantizedRows planes;
    std::int32_t rows = 0;
    std::int64_t columns = 0;
    std::int32_t pieces = 0; ///< of a row, where pieces are worked on
};

template <RowActivation activation>
__device__ Four activatedFour(const ActivateCall &call, std::int64_t row, std::int64_t column)
{
    Four four = loadFour(call.gate.data + row * call.gate.stride, column, call.columns, call.gate.isAligned);
    for (int k = 0; k < 4; ++k)
        four.value[k] = activated<activation>(four.value[k]);
    if (call.up.data) {
        const Four up =
            loadFour(call.up.data + row * call.up.stride, column, call.columns, call.up.isAligned);
        for (int k = 0; k < 4; ++k)
            four.value[k] *= up.value[k];
    }
    return four;
}

/// Rows that are rounded too.
template <RowActivation activation, class Threads, int fours>
__global__ void __launch_bounds__(largestThreads) activateRowsKernel(ActivateCall call)
{
    followPrevious();
    const std::int32_t number = Threads::row();
    if (number >= call.rows)
        return; // a whole warp
    const auto columns = static_cast<std::int32_t>(call.columns);
    const auto load = [&](std::int32_t column) { return activatedFour<activation>(call, number, column); };
    const auto asItIs = [](std::int32_t, const Four &four) { return four; };
    const KeptRow<Threads, fours> row(columns, load);
    finishRow<Threads>(row, number, columns, call.output, call.planes, load, asItIs);
}

template <RowActivation activation>
__global__ void activatePiecesKernel(ActivateCall call)
{
    followPrevious();
    const auto pieces = static_cast<unsigned>(call.pieces);
    const std::int64_t row = blockIdx.x / pieces;
    const std::int64_t column = std::int64_t(blockIdx.x % pieces) * pieceColumns + 4 * threadIdx.x;
    if (column < call.columns) {
        storeFour(call.output.data + row * call.output.stride, column, call.columns, call.output.isAligned,
                  activatedFour<activation>(call, row, column));
    }
}

template <RowActivation activation>
cudaError_t start(ActivateCall call, cudaStream_t stream)
{
    if (call.planes.high) {
        const RowLaunch shape =
            rowLaunch(call.rows, static_cast<std::int32_t>(call.columns), sizeof(RowSlots));
        if (shape.shape.grid.x == 0)
            return cudaErrorInvalidValue;
        return dispatchRows(shape, [&](auto threads, auto fours) {
            return launch(activateRowsKernel<activation, decltype(threads), decltype(fours)::value>,
                          shape.shape, stream, call);
        });
    }
    const PieceLaunch shape = pieceLaunch(call.rows, call.columns);
    if (shape.shape.grid.x == 0)
        return cudaErrorInvalidValue;
    call.pieces = shape.pieces;
    return launch(activatePiecesKernel<activation>, shape.shape, stream, call);
}

bool hasShape(const DeviceRows &rows, const DeviceRows &like)
{
    return rows.data && rows.rows == like.rows && rows.columns == like.columns && rows.stride >= rows.columns;
}

} // namespace

cudaError_t activateRows(RowActivation activation, DeviceRows gate, DeviceRows up, DeviceRows output,
                         QuantizedRows quantized, cudaStream_t stream)
{
    if (!hasShape(gate, gate) || (up.data && !hasShape(up, gate)) ||
        (output.data && !hasShape(output, gate)) ||
        (quantized.high && !canRound(quantized, gate.rows, gate.columns)) ||
        (!output.data && !quantized.high))
        return cudaErrorInvalidValue;
    ActivateCall call;
    call.gate = rowPlane(gate);
    call.up = rowPlane(up);
    call.output = rowPlane(output);
    call.planes = quantized;
    call.rows = gate.rows;
    call.columns = gate.columns;
    switch (activation) {
    case RowActivation::Silu:
        return start<RowActivation::Silu>(call, stream);
    case RowActivation::GeluTanh:
        return start<RowActivation::GeluTanh>(call, stream);
    case RowActivation::Gelu:
        return start<RowActivation::Gelu>(call, stream);
    }
    return cudaErrorInvalidValue;
}

} // namespace tokenloupe::cuda
