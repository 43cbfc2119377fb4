// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/rounding.cuh"
#include "kernels/cuda/rowdispatch.cuh"
#include "kernels/cuda/rowops.h"

// Norms: the sums have more than float32's digits, as the CPU's have, everything else is float32.

namespace tokenloupe::cuda {

namespace {

struct NormCall
{
    RowPlane input;
    RowPlane addend;
    RowPlane output;
    QuantizedRows planes;
    RowNormParams params;
    std::int32_t rows = 0;
    std::int32_t columns = 0;
    bool areGainsAligned = false;
};

/// Of a row that KeptRow reads with `load`: what is taken from each value, and the factor behind it.
struct Moments
{
    float mean = 0.0F;
    float scale = 0.0F;
};

template <RowNorm kind, class Threads, class Row, class Load>
__device__ Moments moments(const Row &row, std::int32_t columns, float epsilon, Load load)
{
    const auto count = static_cast<float>(columns);
    Moments found;
    if (kind == RowNorm::Layer) {
        TwoFloat sum;
        row.forEach(load, [&](std::int32_t, const Four &four) {
            for (int k = 0; k < 4; ++k)
                sum = sum + four.value[k];
        });
        found.mean = (Threads::sum(sum, 0) / count).high;
    }
    TwoFloat squares;
    row.forEach(load, [&](std::int32_t column, const Four &four) {
        for (int k = 0; k < 4; ++k) {
            // What is behind the end is 0, not at the mean.
            const float distance = column + k < columns ? four.value[k] - found.mean : 0.0F;
            squares = squares + exactProduct(distance, distance);
        }
    });
    found.scale = reciprocalRoot(Threads::sum(squares, 1) / count + epsilon);
    return found;
}

template <RowNorm kind, class Threads, int fours>
__global__ void __launch_bounds__(largestThreads) normRowsKernel(NormCall call)
{
    followPrevious();
    const std::int32_t number = Threads::row();
    if (number >= call.rows)
        return; // a whole warp
    const std::int32_t columns = call.columns;
    float *input = call.input.data + number * call.input.stride;
    const auto load = [&](std::int32_t column) {
        return loadFour(input, column, columns, call.input.isAligned);
    };
    const auto addAndLoad = [&](std::int32_t column) {
        Four four = load(column);
        if (!call.addend.data)
            return four;
        const float *addend = call.addend.data + number * call.addend.stride;
        const Four more = loadFour(addend, column, columns, call.addend.isAligned);
        for (int k = 0; k < 4; ++k)
            four.value[k] += more.value[k];
        storeFour(input, column, columns, call.input.isAligned, four);
        return four;
    };
    KeptRow<Threads, fours> row(columns, addAndLoad);
    if (fours == 0 && call.addend.data)
        row.forEach(addAndLoad, [](std::int32_t, const Four &) {});

    const Moments found = moments<kind, Threads>(row, columns, call.params.epsilon, load);
    const auto result = [&](std::int32_t column, const Four &four) {
        const Four gain = loadFour(call.params.gain, column, columns, call.areGainsAligned);
        Four scaled;
        for (int k = 0; k < 4; ++k)
            scaled.value[k] =
                (four.value[k] - found.mean) * found.scale * (gain.value[k] + call.params.gainOffset);
        if (call.params.bias) {
            const Four bias = loadFour(call.params.bias, column, columns, call.areGainsAligned);
            for (int k = 0; k < 4; ++k)
                scaled.value[k] = __fadd_rn(scaled.value[k], bias.value[k]);
        }
        return scaled;
    };
    row.replace(result);
    finishRow<Threads>(row, number, columns, call.output, call.planes, load, result);
}

template <RowNorm kind>
cudaError_t launchNorm(const RowLaunch &shape, const NormCall &call, cudaStream_t stream)
{
    return dispatchRows(shape, [&](auto threads, auto fours) {
        return launch(normRowsKernel<kind, decltype(threads), decltype(fours)::value>, shape.shape, stream,
                      call);
    });
}

bool hasShape(const DeviceRows &rows, std::int32_t count, std::int32_t columns)
{
    return rows.data && rows.rows == count && rows.columns == columns && rows.stride >= columns;
}

} // namespace

cudaError_t normRows(DeviceRows input, DeviceRows addend, const RowNormParams &params, DeviceRows output,
                     QuantizedRows quantized, cudaStream_t stream)
{
    if (!hasShape(input, input.rows, input.columns) || !params.gain ||
        (addend.data && !hasShape(addend, input.rows, input.columns)) ||
        (output.data && !hasShape(output, input.rows, input.columns)) ||
        (quantized.high && !canRound(quantized, input.rows, input.columns)))
        return cudaErrorInvalidValue;
    const RowLaunch shape = rowLaunch(input.rows, input.columns, sizeof(RowSlots));
    if (shape.shape.grid.x == 0)
        return cudaErrorInvalidValue;
    NormCall call;
    call.input = rowPlane(input);
    call.addend = rowPlane(addend);
    call.output = rowPlane(output);
    call.planes = quantized;
    call.params = params;
    call.rows = input.rows;
    call.columns = input.columns;
    call.areGainsAligned = isAligned(params.gain, 16) && (!params.bias || isAligned(params.bias, 16));
    return params.kind == RowNorm::Rms ? launchNorm<RowNorm::Rms>(shape, call, stream)
                                       : launchNorm<RowNorm::Layer>(shape, call, stream);
}

} // namespace tokenloupe::cuda
