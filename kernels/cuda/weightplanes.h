// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/formats/tensortype.h"

#include <cstddef>
#include <cstdint>

// The planes that a quantised matrix is taken apart into. A row is cut into units of 32 columns, unit u of
// row r has number r · (columns / 32) + u, and each plane holds what it holds of unit 0, of unit 1 and so on,
// so that the lanes of a warp, each with a unit of its own, read neighbouring words.
//
// Columns 4j … 4j + 3 of a unit are its word j, a byte each once decoded. How narrower codes lie:
//   halves     16 bytes: word j in the low half bytes of the stored word j, word j + 4 in the high ones
//   in order   16 bytes: half byte i (low before high) is column i, which is what a table look-up takes
//   two bits   8 bytes: word j in the bits 2(j % 4) and 2(j % 4) + 1 of the bytes of the stored word j / 4
//   one bit    4 bytes: word j in bit j of the stored word's bytes (fifth, third bits)
// "2 ×" in a column of the table: for columns 0 … 15 and for 16 … 31. Supers are for eight units together.
//
// type     codes                       extra              scales                             supers
// Q4_0     halves                      -                  d                                  -
// Q4_1     halves                      -                  d, m                               -
// Q5_0     halves                      fifth bits         d                                  -
// Q5_1     halves                      fifth bits         d, m                               -
// Q8_0     columns 0 … 15              columns 16 … 31    d                                  -
// Q2_K     two bits                    -                  2 × (scale, minimum: half bytes)   d, dmin
// Q3_K     two bits                    third bits         2 × (scale - 32)                   d
// Q4_K     halves                      -                  scale, minimum: a byte each        d, dmin
// Q5_K     halves                      fifth bits         scale, minimum: a byte each        d, dmin
// Q6_K     halves                      upper two bits     2 × scale                          d
// Q8_K     columns 0 … 15              columns 16 … 31    -                                  d (float32)
// IQ4_NL   in order                    -                  d                                  -
// IQ4_XS   in order                    -                  scale - 32                         d
// MXFP4    in order                    -                  exponent                           -
// NVFP4    in order                    -                  2 × scale                          -
// IQ2_XXS  4 indices, signs and scale  -                  -                                  d
// IQ2_XS   4 × (index, signs)          -                  2 × scale: half bytes              d
// IQ2_S    4 indices, 4 × signs        -                  upper bits, 2 × scale              d
// IQ3_XXS  8 indices                   signs and scale    -                                  d
// IQ3_S    8 indices                   signs              ninth bits, scale                  d
// IQ1_S    4 indices                   16 bits as stored  -                                  d
// IQ1_M    4 indices                   4 × (bits, sign)   2 × scale: half bytes              d, put together
// TQ1_0    4 × 5 digits                2 × 5 digits       2 digits: half a byte              d
// TQ2_0    two bits                    -                  -                                  d

namespace tokenloupe::cuda {

constexpr std::int32_t unitColumns = 32;
constexpr std::int32_t superUnits = 8; ///< units of 256 columns
constexpr std::uint64_t planeAlignment = 256;

/// Bytes of each plane for eight units (of one row, or of several).
struct PlaneShape
{
    std::int32_t codes = 0;
    std::int32_t extra = 0;
    std::int32_t scales = 0;
    std::int32_t supers = 0;
};

/// All zero for types that have no planes.
constexpr PlaneShape planeShapeOf(TensorType type)
{
    constexpr std::int32_t n = superUnits;
    switch (type) {
    case TensorType::Q4_0:
    case TensorType::IQ4_NL:
        return {16 * n, 0, 2 * n, 0};
    case TensorType::Q4_1:
        return {16 * n, 0, 4 * n, 0};
    case TensorType::Q5_0:
        return {16 * n, 4 * n, 2 * n, 0};
    case TensorType::Q5_1:
        return {16 * n, 4 * n, 4 * n, 0};
    case TensorType::Q8_0:
        return {16 * n, 16 * n, 2 * n, 0};
    case TensorType::Q2_K:
        return {8 * n, 0, 2 * n, 4};
    case TensorType::Q3_K:
        return {8 * n, 4 * n, 2 * n, 2};
    case TensorType::Q4_K:
        return {16 * n, 0, 2 * n, 4};
    case TensorType::Q5_K:
        return {16 * n, 4 * n, 2 * n, 4};
    case TensorType::Q6_K:
        return {16 * n, 8 * n, 2 * n, 2};
    case TensorType::Q8_K:
        return {16 * n, 16 * n, 0, 4};
    case TensorType::IQ4_XS:
        return {16 * n, 0, n, 2};
    case TensorType::MXFP4:
        return {16 * n, 0, n, 0};
    case TensorType::NVFP4:
        return {16 * n, 0, 2 * n, 0};
    case TensorType::IQ2_XXS:
    case TensorType::TQ2_0:
        return {8 * n, 0, 0, 2};
    case TensorType::IQ2_XS:
        return {8 * n, 0, n, 2};
    case TensorType::IQ2_S:
        return {8 * n, 0, 2 * n, 2};
    case TensorType::IQ3_XXS:
        return {8 * n, 4 * n, 0, 2};
    case TensorType::IQ3_S:
        return {8 * n, 4 * n, 2 * n, 2};
    case TensorType::IQ1_S:
        return {4 * n, 2 * n, 0, 2};
    case TensorType::IQ1_M:
        return {4 * n, 2 * n, n, 2};
    case TensorType::TQ1_0:
        return {4 * n, 2 * n, n / 2, 2};
    default:
        return {};
    }
}

/// Where the planes of a matrix of `units` units (all rows together) begin, the codes' at 0. `end` is the
/// size of it all.
struct PlaneOffsets
{
    std::uint64_t extra = 0;
    std::uint64_t scales = 0;
    std::uint64_t supers = 0;
    std::uint64_t end = 0;
};

constexpr std::uint64_t alignedPlane(std::uint64_t bytes)
{
    return (bytes + planeAlignment - 1) / planeAlignment * planeAlignment;
}

constexpr PlaneOffsets planeOffsetsOf(const PlaneShape &shape, std::uint64_t units)
{
    const auto size = [units](std::int32_t bytes) {
        return alignedPlane((units * static_cast<std::uint64_t>(bytes) + superUnits - 1) / superUnits);
    };
    PlaneOffsets offsets;
    offsets.extra = size(shape.codes);
    offsets.scales = offsets.extra + size(shape.extra);
    offsets.supers = offsets.scales + size(shape.scales);
    offsets.end = offsets.supers + size(shape.supers);
    return offsets;
}

/// Bytes of a value of the types that lie as in the file, each row padded to whole words of 16 bytes (so rows
/// of a multiple of 8 columns are as a matrix library expects them); 0 for the others.
constexpr std::int32_t plainValueBytes(TensorType type)
{
    return type == TensorType::F32 ? 4 : type == TensorType::F16 || type == TensorType::BF16 ? 2 : 0;
}

constexpr std::int64_t plainRowBytes(TensorType type, std::int64_t columns)
{
    return (columns * plainValueBytes(type) + 15) / 16 * 16;
}

/// Numbers of units are 32-bit numbers on the device.
constexpr std::int64_t mostUnits = 0x7FFFFFFF;

} // namespace tokenloupe::cuda
