// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/products.h"

#include "kernels/cuda/typelaunchers.cuh"
#include "kernels/cuda/weightlayout.h"

#include <cstdint>

namespace tokenloupe::cuda {

namespace {

const TypeLaunchers *launchersOf(TensorType type)
{
    using Find = const TypeLaunchers *(*)(TensorType);
    constexpr Find finds[] = {plainLaunchers, blockLaunchers, superLaunchers, largeSuperLaunchers,
                              levelLaunchers, iq1Launchers,   iq2Launchers,   iq3Launchers};
    for (const Find find : finds) {
        if (const TypeLaunchers *launchers = find(type))
            return launchers;
    }
    return nullptr;
}

bool isAligned(const void *data, std::uintptr_t bytes)
{
    return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

/// Whether float4 may be read from each row.
bool hasAlignedRows(const DeviceRows &rows)
{
    return isAligned(rows.data, 16) && (rows.rows <= 1 || rows.stride % 4 == 0);
}

bool hasRows(const DeviceRows &rows)
{
    return rows.data && rows.rows > 0 && rows.columns > 0 &&
           rows.stride >= (rows.rows > 1 ? rows.columns : 0);
}

/// The matrix exists and has a layout.
bool isUsable(const std::byte *data, TensorType type, std::int64_t rows, std::int64_t columns)
{
    return data && isAligned(data, 16) && deviceWeightBytes(type, rows, columns) != 0;
}

PlaneOffsets offsetsOf(TensorType type, std::int64_t rows, std::int64_t columns)
{
    return planeOffsetsOf(planeShapeOf(type), static_cast<std::uint64_t>(rows * (columns / unitColumns)));
}

/// Without input, output and what chooses experts.
ExactProduct exactProductOf(TensorType type, std::int64_t rows, std::int64_t columns)
{
    ExactProduct product{};
    product.inputDivisor = 1;
    product.weightRows = static_cast<std::int32_t>(rows);
    if (plainValueBytes(type) != 0) {
        product.rowBytes = plainRowBytes(type, columns);
        product.steps = static_cast<std::int32_t>(product.rowBytes / 16);
    } else {
        product.offsets = offsetsOf(type, rows, columns);
        product.steps = static_cast<std::int32_t>(columns / unitColumns);
    }
    return product;
}

/// Rows of a matrix to be decoded; which ones and where to is the caller's to say.
RowDecode decodeOf(const DeviceWeight &weight)
{
    RowDecode call{};
    call.weights = weight.data;
    call.columns = static_cast<std::int32_t>(weight.columns);
    if (plainValueBytes(weight.type) != 0)
        call.rowBytes = plainRowBytes(weight.type, weight.columns);
    else
        call.offsets = offsetsOf(weight.type, weight.rows, weight.columns);
    call.stride = weight.columns;
    return call;
}

cudaError_t expandRows(const DeviceWeight &weight, std::int64_t first, std::int64_t count,
                       DecodeTarget target, void *output, cudaStream_t stream)
{
    if (!isUsable(weight.data, weight.type, weight.rows, weight.columns) || !output ||
        !isAligned(output, 4) || first < 0 || count <= 0 || first > weight.rows - count)
        return cudaErrorInvalidValue;
    RowDecode call = decodeOf(weight);
    call.first = first;
    call.rows = count;
    call.target = target;
    call.output = output;
    return launchersOf(weight.type)->decode(call, stream);
}

/// As float32 to the rows of `output`.
cudaError_t decodeTo(const DeviceWeight &weight, RowDecode call, DeviceRows output, cudaStream_t stream)
{
    call.rows = output.rows;
    call.output = output.data;
    call.stride = output.stride;
    return launchersOf(weight.type)->decode(call, stream);
}

} // namespace

cudaError_t multiplyExact(const DeviceWeight &weight, DeviceRows input, const float *bias, DeviceRows output,
                          cudaStream_t stream)
{
    if (!isUsable(weight.data, weight.type, weight.rows, weight.columns) || !hasRows(input) ||
        !hasRows(output) || input.rows > largestDecodeRows || output.rows != input.rows ||
        input.columns != weight.columns || output.columns != weight.rows)
        return cudaErrorInvalidValue;
    ExactProduct product = exactProductOf(weight.type, weight.rows, weight.columns);
    product.vectorInput = hasAlignedRows(input) ? 1 : 0;
    if (product.vectorInput == 0 && plainValueBytes(weight.type) == 0)
        return cudaErrorInvalidValue;
    product.weights = weight.data;
    product.input = input;
    product.bias = bias;
    product.output = output;
    return launchersOf(weight.type)->exact[rowVariantOf(input.rows)](product, stream);
}

cudaError_t multiplyQuantized(const DeviceWeight &weight, const QuantizedRows &input, const float *bias,
                              DeviceRows output, cudaStream_t stream)
{
    const bool hasPlanes = input.high && input.low && input.scales && input.sums &&
                           isAligned(input.high, 16) && isAligned(input.low, 16) && isAligned(input.sums, 8);
    if (!isUsable(weight.data, weight.type, weight.rows, weight.columns) ||
        !hasQuantizedProduct(weight.type, weight.columns) || !hasPlanes || !hasRows(output) ||
        input.rows < 1 || input.rows > largestDecodeRows || output.rows != input.rows ||
        input.columns != weight.columns || output.columns != weight.rows)
        return cudaErrorInvalidValue;
    QuantizedProduct product{};
    product.weights = weight.data;
    product.offsets = offsetsOf(weight.type, weight.rows, weight.columns);
    product.weightRows = static_cast<std::int32_t>(weight.rows);
    product.units = static_cast<std::int32_t>(weight.columns / unitColumns);
    product.input = input;
    product.bias = bias;
    product.output = output;
    return launchersOf(weight.type)->quantized[rowVariantOf(input.rows)](product, stream);
}

cudaError_t gatherRows(const DeviceWeight &table, const std::int32_t *ids, DeviceRows output,
                       cudaStream_t stream)
{
    if (!isUsable(table.data, table.type, table.rows, table.columns) || !ids || !hasRows(output) ||
        output.columns != table.columns)
        return cudaErrorInvalidValue;
    RowDecode call = decodeOf(table);
    call.ids = ids;
    call.target = DecodeTarget::Floats;
    return decodeTo(table, call, output, stream);
}

cudaError_t addPositionRows(const DeviceWeight &table, const StepState *state, DeviceRows target,
                            cudaStream_t stream)
{
    if (!isUsable(table.data, table.type, table.rows, table.columns) || !state || !hasRows(target) ||
        target.columns != table.columns || target.rows > table.rows)
        return cudaErrorInvalidValue;
    RowDecode call = decodeOf(table);
    call.state = state;
    call.target = DecodeTarget::AddedFloats;
    return decodeTo(table, call, target, stream);
}

cudaError_t expandHalf(const DeviceWeight &weight, std::int64_t first, std::int64_t count, void *half,
                       cudaStream_t stream)
{
    return expandRows(weight, first, count, DecodeTarget::Halves, half, stream);
}

cudaError_t expandFloat(const DeviceWeight &weight, std::int64_t first, std::int64_t count, float *output,
                        cudaStream_t stream)
{
    return expandRows(weight, first, count, DecodeTarget::Floats, output, stream);
}

cudaError_t multiplyExperts(const DeviceExperts &experts, const std::int32_t *chosen, std::int32_t used,
                            std::int32_t inputPerPair, DeviceRows input, DeviceRows output,
                            cudaStream_t stream)
{
    if (!experts.data || !chosen || deviceWeightBytes(experts.type, experts.rows, experts.columns) == 0 ||
        used < 1 || used > experts.experts || used > mostLaunchPairs || !hasRows(input) || !hasRows(output) ||
        output.rows % used != 0 || input.rows != (inputPerPair != 0 ? output.rows : output.rows / used) ||
        input.columns != experts.columns || output.columns != experts.rows)
        return cudaErrorInvalidValue;
    ExactProduct product = exactProductOf(experts.type, experts.rows, experts.columns);
    product.vectorInput = hasAlignedRows(input) ? 1 : 0;
    if (product.vectorInput == 0 && plainValueBytes(experts.type) == 0)
        return cudaErrorInvalidValue;
    product.experts = experts.data;
    product.chosen = chosen;
    product.inputDivisor = inputPerPair != 0 ? 1 : used;
    product.input = input;
    product.output = output;
    return launchersOf(experts.type)->exact[0](product, stream);
}

} // namespace tokenloupe::cuda
