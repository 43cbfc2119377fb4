// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/experts.h"
#include "kernels/cuda/productcalls.cuh"

#include <algorithm>

namespace tokenloupe::cuda {

namespace {

bool fitTogether(const ExpertProduct *products, std::int32_t count, const ExpertPairs &pairs,
                 std::int32_t inputRows, std::int32_t inputColumns)
{
    if (!products || !isProductCount(count) || !pairs.chosen || pairs.used < 1)
        return false;
    const ExpertProduct &first = products[0];
    return std::all_of(products, products + count, [&](const ExpertProduct &product) {
        const DeviceExperts &experts = product.experts;
        const DeviceRows &output = product.output;
        return experts.data && experts.type == first.experts.type && pairs.used <= experts.experts &&
               deviceWeightBytes(experts.type, experts.rows, experts.columns) != 0 &&
               experts.columns == inputColumns && hasRows(output) && output.columns == experts.rows &&
               output.rows == first.output.rows && output.rows % pairs.used == 0 &&
               inputRows == (pairs.hasOwnInput ? output.rows : output.rows / pairs.used);
    });
}

/// Gives a product what is to be multiplied.
template <class Product>
Product withExperts(Product product, const ExpertProduct *products, std::int32_t count,
                    const ExpertPairs &pairs)
{
    product.pairs.chosen = pairs.chosen;
    product.pairs.order = pairs.order;
    product.pairs.count = products[0].output.rows;
    product.pairs.inputDivisor = pairs.hasOwnInput ? 1 : pairs.used;
    for (std::int32_t i = 0; i < count; ++i) {
        const DeviceExperts &experts = products[i].experts;
        product.matrices[i] = matrixOf(experts.type, experts.rows, experts.columns, products[i].output);
        product.matrices[i].experts = experts.data;
    }
    return product;
}

} // namespace

cudaError_t multiplyExpertsExact(const ExpertProduct *products, std::int32_t count, const ExpertPairs &pairs,
                                 DeviceRows input, cudaStream_t stream)
{
    if (!hasRows(input) || !fitTogether(products, count, pairs, input.rows, input.columns))
        return cudaErrorInvalidValue;
    const TensorType type = products[0].experts.type;
    const ExactProduct product = exactProductOf(type, input);
    if (product.steps == 0)
        return cudaErrorInvalidValue;
    return launchersOf(type)->exact[0](withExperts(product, products, count, pairs), stream);
}

cudaError_t multiplyExpertsQuantized(const ExpertProduct *products, std::int32_t count,
                                     const ExpertPairs &pairs, const QuantizedRows &input,
                                     cudaStream_t stream)
{
    if (!hasPlanes(input) || !fitTogether(products, count, pairs, input.rows, input.columns) ||
        !hasQuantizedProduct(products[0].experts.type, input.columns))
        return cudaErrorInvalidValue;
    return launchersOf(products[0].experts.type)
        ->quantized[0](withExperts(quantizedProductOf(input), products, count, pairs), stream);
}

} // namespace tokenloupe::cuda
