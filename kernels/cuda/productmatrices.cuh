// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/deviceviews.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/productgeometry.h"

#include <algorithm>
#include <cuda_runtime.h>

// Several matrices of one launch, which share their type, their columns and the activations.

namespace tokenloupe::cuda {

/// With `chosen`: products for each pair p of a token and one of its experts, of the matrices of expert
/// chosen[p], with input row p / inputDivisor and output row p; blockIdx.y is the pair. Without: of all rows
/// of the input.
struct ProductPairs
{
    const std::int32_t *chosen = nullptr;
    std::int32_t count = 1;
    std::int32_t inputDivisor = 1;
};

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

__device__ inline const std::byte *weightsOfBlock(const ProductPairs &pairs, const ProductMatrix &matrix)
{
    return pairs.chosen ? matrix.experts[pairs.chosen[blockIdx.y]] : matrix.weights;
}

/// The first of a block's input rows.
__device__ inline std::int32_t inputRowOfBlock(const ProductPairs &pairs)
{
    return pairs.chosen ? static_cast<std::int32_t>(blockIdx.y) / pairs.inputDivisor : 0;
}

/// Where the sum of output row `row` goes, for row `t` of a block's input rows.
__device__ inline float *outputOfBlock(const ProductMatrix &matrix, std::int64_t row, std::int32_t t)
{
    // note: blockIdx.y is 0 where there are no experts.
    return matrix.output + (blockIdx.y + t) * matrix.outputStride + row;
}

/// Pairs of one launch; more of them take several.
constexpr std::int32_t mostLaunchPairs = 65535;

/// Starts a kernel for products: once for matrices, for experts along blockIdx.y. `steps`: of a row.
template <class Product>
cudaError_t launchProducts(void (*kernel)(Product), Product product, std::int32_t steps,
                           std::size_t sharedBytes, cudaStream_t stream)
{
    const std::int32_t blocks = shareBlocks(product.matrices, steps);
    LaunchShape shape;
    shape.block = dim3(productThreads);
    shape.sharedBytes = sharedBytes;
    ProductPairs &pairs = product.pairs;
    for (std::int32_t left = pairs.count; left > 0;) {
        // A whole number of tokens, so that the pairs' input rows begin with a row of their own.
        const std::int32_t most = mostLaunchPairs / pairs.inputDivisor * pairs.inputDivisor;
        const std::int32_t now = std::min(left, most);
        shape.grid = dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(now));
        if (const cudaError_t started = launch(kernel, shape, stream, product); started != cudaSuccess)
            return started;
        left -= now;
        if (!pairs.chosen)
            continue;
        pairs.chosen += now;
        skipRows(product.input, now / pairs.inputDivisor);
        for (ProductMatrix &matrix : product.matrices)
            matrix.output += now * matrix.outputStride;
    }
    return cudaSuccess;
}

} // namespace tokenloupe::cuda
