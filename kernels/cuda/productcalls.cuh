// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/typelaunchers.cuh"
#include "kernels/cuda/weightlayout.h"

#include <cstdint>

// What the launchers of products check of their arguments, and what they make of them. Host code.

namespace tokenloupe::cuda {

inline bool isAligned(const void *data, std::uintptr_t bytes)
{
    return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

inline bool hasRows(const DeviceRows &rows)
{
    return rows.data && rows.rows > 0 && rows.columns > 0 &&
           rows.stride >= (rows.rows > 1 ? rows.columns : 0);
}

inline bool hasPlanes(const QuantizedRows &rows)
{
    return rows.high && rows.low && rows.scales && rows.sums && rows.rows > 0 && rows.columns > 0 &&
           isAligned(rows.high, 16) && isAligned(rows.low, 16) && isAligned(rows.sums, 8);
}

inline bool isProductCount(std::int32_t count)
{
    return count >= 1 && count <= mostProducts;
}

inline PlaneOffsets offsetsOf(TensorType type, std::int64_t rows, std::int64_t columns)
{
    return planeOffsetsOf(planeShapeOf(type), static_cast<std::uint64_t>(rows * (columns / unitColumns)));
}

/// Without its weights and bias.
inline ProductMatrix matrixOf(TensorType type, std::int64_t rows, std::int64_t columns,
                              const DeviceRows &output)
{
    ProductMatrix matrix{};
    matrix.output = output.data;
    matrix.outputStride = output.stride;
    matrix.rows = static_cast<std::int32_t>(rows);
    if (plainValueBytes(type) == 0)
        matrix.offsets = offsetsOf(type, rows, columns);
    return matrix;
}

/// Without its matrices. `steps` 0: types with blocks want other rows.
inline ExactProduct exactProductOf(TensorType type, const DeviceRows &input)
{
    ExactProduct product{};
    product.input = input;
    // Whether float4 may be read from each row.
    product.vectorInput = isAligned(input.data, 16) && (input.rows <= 1 || input.stride % 4 == 0) ? 1 : 0;
    if (plainValueBytes(type) != 0) {
        product.rowBytes = plainRowBytes(type, input.columns);
        product.steps = static_cast<std::int32_t>(product.rowBytes / 16);
    } else if (product.vectorInput != 0) {
        product.steps = input.columns / unitColumns;
    }
    return product;
}

/// Without its matrices.
inline QuantizedProduct quantizedProductOf(const QuantizedRows &input)
{
    QuantizedProduct product{};
    product.units = input.columns / unitColumns;
    product.input = input;
    return product;
}

} // namespace tokenloupe::cuda
