// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/productgeometry.h"

#include <cuda_runtime.h>

// Several matrices of one launch, which share their type, their columns and the activations.

namespace tokenloupe::cuda {

struct ProductMatrix
{
    const std::byte *weights;
    const std::byte *const *experts; ///< one matrix for each, instead of `weights`; null: no experts
    const float *bias;               ///< may be null
    float *output;
    std::int64_t outputStride;
    PlaneOffsets offsets; ///< of types with planes
    std::int32_t rows;    ///< 0: there is no such matrix
    std::int32_t splitShift;
    std::int32_t endBlock;
};

/// Gives each matrix its blocks; returns how many there are.
inline std::int32_t shareBlocks(ProductMatrix (&matrices)[mostProducts], std::int64_t steps)
{
    std::int64_t rows[mostProducts] = {};
    for (std::int32_t i = 0; i < mostProducts; ++i)
        rows[i] = matrices[i].rows;
    const ProductsGeometry geometry = productsGeometry(rows, steps);
    for (std::int32_t i = 0; i < mostProducts; ++i) {
        matrices[i].splitShift = geometry.splitShift[i];
        matrices[i].endBlock = geometry.endBlock[i];
    }
    return geometry.endBlock[mostProducts - 1];
}

/// What a block multiplies by.
struct ProductBlock
{
    std::int32_t matrix = 0;
    std::int32_t block = 0; ///< of those of the matrix
};

__device__ inline ProductBlock productBlock(const ProductMatrix (&matrices)[mostProducts])
{
    const auto number = static_cast<std::int32_t>(blockIdx.x);
    ProductBlock mine{0, number};
#pragma unroll
    for (std::int32_t i = 1; i < mostProducts; ++i) {
        const std::int32_t first = matrices[i - 1].endBlock;
        if (number >= first)
            mine = {i, number - first};
    }
    return mine;
}

} // namespace tokenloupe::cuda
