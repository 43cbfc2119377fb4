// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/products.h"

#include "kernels/cuda/productcalls.cuh"

#include <algorithm>

namespace tokenloupe::cuda {

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

namespace {

/// The matrix exists and has a layout.
bool isUsable(const std::byte *data, TensorType type, std::int64_t rows, std::int64_t columns)
{
    return data && isAligned(data, 16) && deviceWeightBytes(type, rows, columns) != 0;
}

ProductMatrix matrixOf(const DeviceProduct &product)
{
    const DeviceWeight &weight = product.weight;
    ProductMatrix matrix = matrixOf(weight.type, weight.rows, weight.columns, product.output);
    matrix.weights = weight.data;
    matrix.bias = product.bias;
    return matrix;
}

/// Matrices that exist, are of one type, and fit the rows that come in and go out.
bool fitTogether(const DeviceProduct *products, std::int32_t count, std::int32_t rows, std::int32_t columns)
{
    if (!products || !isProductCount(count) || rows < 1 || rows > largestDecodeRows)
        return false;
    const TensorType type = products[0].weight.type;
    return std::all_of(products, products + count, [&](const DeviceProduct &product) {
        const DeviceWeight &weight = product.weight;
        const DeviceRows &output = product.output;
        return weight.type == type && isUsable(weight.data, type, weight.rows, weight.columns) &&
               weight.columns == columns && hasRows(output) && output.rows == rows &&
               output.columns == weight.rows;
    });
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

cudaError_t multiplyExact(const DeviceProduct *products, std::int32_t count, DeviceRows input,
                          cudaStream_t stream)
{
    if (!hasRows(input) || !fitTogether(products, count, input.rows, input.columns))
        return cudaErrorInvalidValue;
    const TensorType type = products[0].weight.type;
    ExactProduct product = exactProductOf(type, input);
    if (product.steps == 0)
        return cudaErrorInvalidValue;
    for (std::int32_t i = 0; i < count; ++i)
        product.matrices[i] = matrixOf(products[i]);
    return launchersOf(type)->exact[rowVariantOf(input.rows)](product, stream);
}

cudaError_t multiplyQuantized(const DeviceProduct *products, std::int32_t count, const QuantizedRows &input,
                              cudaStream_t stream)
{
    if (!hasPlanes(input) || !fitTogether(products, count, input.rows, input.columns) ||
        !hasQuantizedProduct(products[0].weight.type, input.columns))
        return cudaErrorInvalidValue;
    QuantizedProduct product = quantizedProductOf(input);
    for (std::int32_t i = 0; i < count; ++i)
        product.matrices[i] = matrixOf(products[i]);
    return launchersOf(products[0].weight.type)->quantized[rowVariantOf(input.rows)](product, stream);
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

} // namespace tokenloupe::cuda
