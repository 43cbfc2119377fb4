// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/weightplanes.h"

#include <cstdint>

// How the products of products.h are cut into blocks: pure functions of the shape.
//
// A warp multiplies a few neighbouring rows of weights (its group) with all rows of activations. Its lanes
// take neighbouring steps along the row: units of 32 columns, or 16 bytes of the plain types. Where there are
// few rows, 2 or 4 warps of a block share a group and take turns along the row; that number depends on the
// matrix alone, so that a row of activations gives the same bits alone and among others.

namespace tokenloupe::cuda {

constexpr std::int32_t productWarps = 4; ///< of a block
constexpr std::int32_t warpLanes = 32;
constexpr std::int32_t productThreads = productWarps * warpLanes;

/// Warps that a large device has at work at once: with a group of four rows for each, their loads cover the
/// time that memory takes to answer.
constexpr std::int64_t busyWarps = 4096;

struct ProductGeometry
{
    std::int32_t splitShift = 0; ///< 1 << this warps share a group
    std::int64_t blocks = 0;     ///< along x
};

/// Rows of weights of a group: so many share the loads of activations, which are 4 times a 4-bit weight's.
constexpr std::int32_t groupRows = 4;

/// `rows` and `steps` (of a row) are 31-bit numbers, so that there are never more blocks than a launch can
/// have.
constexpr std::int32_t splitShiftFor(std::int64_t rows, std::int64_t steps)
{
    const std::int64_t groups = (rows + groupRows - 1) / groupRows;
    std::int32_t shift = 0;
    while ((1 << shift) < productWarps && groups << shift < busyWarps && (warpLanes << shift) < steps)
        ++shift;
    return shift;
}

constexpr ProductGeometry productGeometry(std::int64_t rows, std::int64_t steps)
{
    ProductGeometry geometry;
    geometry.splitShift = splitShiftFor(rows, steps);
    const std::int64_t groups = (rows + groupRows - 1) / groupRows;
    const std::int64_t blockGroups = productWarps >> geometry.splitShift;
    geometry.blocks = (groups + blockGroups - 1) / blockGroups;
    return geometry;
}

/// Matrices whose products one launch computes.
constexpr std::int32_t mostProducts = 3;

/// The blocks of such a launch: those of one matrix come after those of another, and each is cut as it is
/// alone, so that its products have the same bits.
struct ProductsGeometry
{
    std::int32_t splitShift[mostProducts] = {};
    std::int32_t endBlock[mostProducts] = {}; ///< blocks of it and of those in front of it
};

/// A matrix without rows is none. All have as many steps in a row.
constexpr ProductsGeometry productsGeometry(const std::int64_t (&rows)[mostProducts], std::int64_t steps)
{
    ProductsGeometry geometry;
    std::int64_t blocks = 0;
    for (std::int32_t i = 0; i < mostProducts; ++i) {
        const ProductGeometry alone = productGeometry(rows[i], steps);
        blocks += alone.blocks;
        geometry.splitShift[i] = alone.splitShift;
        geometry.endBlock[i] = static_cast<std::int32_t>(blocks); // three times 2^27 at most
    }
    return geometry;
}

/// Pieces of 32 units, 1024 columns, that the decoding of whole rows is cut into, one for each warp.
constexpr std::int64_t decodePieces(std::int64_t columns)
{
    return (columns + warpLanes * unitColumns - 1) / (warpLanes * unitColumns);
}

/// Blocks of four pieces; 0: more than a launch can have.
constexpr std::int64_t decodeBlocks(std::int64_t rows, std::int64_t pieces)
{
    if (rows <= 0 || pieces <= 0 || rows > (0x7FFFFFFFLL * productWarps) / pieces)
        return 0;
    return (rows * pieces + productWarps - 1) / productWarps;
}

} // namespace tokenloupe::cuda
