// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/products.h"

#include "kernels/cuda/typelaunchers.cuh"
#include "kernels/cuda/weightlayout.h"

#include <algorithm>
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

/// Without its weights and bias.
ProductMatrix matrixOf(TensorType type, std::int64_t rows, std::int64_t columns, const DeviceRows &output)
{
    ProductMatrix matrix{};
    matrix.output = output.data;
    matrix.outputStride = output.stride;
    matrix.rows = static_cast<std::int32_t>(rows);
    if (plainValueBytes(type) == 0)
        matrix.offsets = offsetsOf(type, rows, columns);
    return matrix;
}

ProductMatrix matrixOf(const DeviceProduct &product)
{
    const DeviceWeight &weight = product.weight;
    ProductMatrix matrix = matrixOf(weight.type, weight.rows, weight.columns, product.output);
    matrix.weights = weight.data;
    matrix.bias = product.bias;
    return matrix;
}

/// Without its matrices and what chooses experts.
ExactProduct exactProductOf(TensorType type, std::int64_t columns, const DeviceRows &input)
{
    ExactProduct product{};
    product.pairs = 1;
    product.inputDivisor = 1;
    product.input = input;
    product.vectorInput = hasAlignedRows(input) ? 1 : 0;
    if (plainValueBytes(type) != 0) {
        product.rowBytes = plainRowBytes(type, columns);
        product.steps = static_cast<std::int32_t>(product.rowBytes / 16);
    } else {
        product.steps = static_cast<std::int32_t>(columns / unitColumns);
    }
    return product;
}

bool isCount(std::int32_t count)
{
    return count >= 1 && count <= mostProducts;
}

/// Matrices that exist, are of one type, and fit the rows that come in and go out.
bool fitTogether(const DeviceProduct *products, std::int32_t count, std::int32_t rows, std::int32_t columns)
{
    if (!products || !isCount(count) || rows < 1 || rows > largestDecodeRows)
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

bool fitTogether(const ExpertProduct *products, std::int32_t count, std::int32_t used,
                 std::int32_t inputPerPair, const DeviceRows &input)
{
    if (!products || !isCount(count) || used < 1 || used > mostLaunchPairs || !hasRows(input))
        return false;
    const ExpertProduct &first = products[0];
    return std::all_of(products, products + count, [&](const ExpertProduct &product) {
        const DeviceExperts &experts = product.experts;
        const DeviceRows &output = product.output;
        return experts.data && experts.type == first.experts.type && used <= experts.experts &&
               deviceWeightBytes(experts.type, experts.rows, experts.columns) != 0 &&
               experts.columns == input.columns && hasRows(output) && output.columns == experts.rows &&
               output.rows == first.output.rows && output.rows % used == 0 &&
               input.rows == (inputPerPair != 0 ? output.rows : output.rows / used);
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
    ExactProduct product = exactProductOf(type, input.columns, input);
    if (product.vectorInput == 0 && plainValueBytes(type) == 0)
        return cudaErrorInvalidValue;
    for (std::int32_t i = 0; i < count; ++i)
        product.matrices[i] = matrixOf(products[i]);
    return launchersOf(type)->exact[rowVariantOf(input.rows)](product, stream);
}

cudaError_t multiplyQuantized(const DeviceProduct *products, std::int32_t count, const QuantizedRows &input,
                              cudaStream_t stream)
{
    const bool hasPlanes = input.high && input.low && input.scales && input.sums &&
                           isAligned(input.high, 16) && isAligned(input.low, 16) && isAligned(input.sums, 8);
    if (!hasPlanes || !fitTogether(products, count, input.rows, input.columns) ||
        !hasQuantizedProduct(products[0].weight.type, input.columns))
        return cudaErrorInvalidValue;
    QuantizedProduct product{};
    product.units = input.columns / unitColumns;
    product.input = input;
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

cudaError_t multiplyExperts(const ExpertProduct *products, std::int32_t count, const std::int32_t *chosen,
                            std::int32_t used, std::int32_t inputPerPair, DeviceRows input,
                            cudaStream_t stream)
{
    if (!chosen || !fitTogether(products, count, used, inputPerPair, input))
        return cudaErrorInvalidValue;
    const TensorType type = products[0].experts.type;
    ExactProduct product = exactProductOf(type, input.columns, input);
    if (product.vectorInput == 0 && plainValueBytes(type) == 0)
        return cudaErrorInvalidValue;
    product.chosen = chosen;
    product.pairs = products[0].output.rows;
    product.inputDivisor = inputPerPair != 0 ? 1 : used;
    for (std::int32_t i = 0; i < count; ++i) {
        const DeviceExperts &experts = products[i].experts;
        product.matrices[i] = matrixOf(type, experts.rows, experts.columns, products[i].output);
        product.matrices[i].experts = experts.data;
    }
    return launchersOf(type)->exact[0](product, stream);
}

} // namespace tokenloupe::cuda
