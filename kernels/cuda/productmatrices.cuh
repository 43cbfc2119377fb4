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
/// chosen[p], with input row p / inputDivisor and output row p. Blocks take their pairs along blockIdx.y, in
/// `order`; null: as they come. Without: of all rows of the input.
struct ProductPairs
{
    const std::int32_t *chosen = nullptr;
    const std::int32_t *order = nullptr;
    std::int32_t first = 0; ///< of a launch
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

/// 0 where there are no experts.
__device__ inline std::int32_t pairOfBlock(const ProductPairs &pairs)
{
    if (!pairs.chosen)
        return 0;
    const std::int32_t place = pairs.first + static_cast<std::int32_t>(blockIdx.y);
    return pairs.order ? pairs.order[place] : place;
}

__device__ inline const std::byte *weightsOf(const ProductPairs &pairs, std::int32_t pair,
                                             const ProductMatrix &matrix)
{
    return pairs.chosen ? matrix.experts[pairs.chosen[pair]] : matrix.weights;
}

/// The first of a pair's input rows.
__device__ inline std::int32_t inputRowOf(const ProductPairs &pairs, std::int32_t pair)
{
    return pairs.chosen ? pair / pairs.inputDivisor : 0;
}

/// Where the sum of output row `row` goes, for row `t` of the input rows.
__device__ inline float *outputOf(const ProductMatrix &matrix, std::int32_t pair, std::int32_t t,
                                  std::int64_t row)
{
    return matrix.output + static_cast<std::int64_t>(pair + t) * matrix.outputStride + row;
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
    for (std::int32_t left = product.pairs.count; left > 0;) {
        const std::int32_t now = std::min(left, mostLaunchPairs);
        shape.grid = dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(now));
        if (const cudaError_t started = launch(kernel, shape, stream, product); started != cudaSuccess)
            return started;
        left -= now;
        product.pairs.first += now;
    }
    return cudaSuccess;
}

} // namespace tokenloupe::cuda
