// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/exactproduct.cuh"
#include "kernels/cuda/quantizedproduct.cuh"
#include "kernels/cuda/rowdecode.cuh"

namespace tokenloupe::cuda {

/// Kernels for 1, 2, up to 4 and up to 8 rows of activations.
constexpr int rowVariants = 4;

constexpr int rowVariantOf(std::int32_t rows)
{
    return rows <= 1 ? 0 : rows <= 2 ? 1 : rows <= 4 ? 2 : 3;
}

/// What there is for one type of weights. The files products*.cu have a list of these each; where a list has
/// no such type they return nullptr.
struct TypeLaunchers
{
    TensorType type;
    cudaError_t (*exact[rowVariants])(const ExactProduct &product, cudaStream_t stream);
    cudaError_t (*quantized[rowVariants])(QuantizedProduct product, cudaStream_t stream); ///< null: none
    cudaError_t (*decode)(const RowDecode &call, cudaStream_t stream);
};

/// Of any type; null: there is none.
const TypeLaunchers *launchersOf(TensorType type);

const TypeLaunchers *plainLaunchers(TensorType type);
const TypeLaunchers *blockLaunchers(TensorType type);
const TypeLaunchers *levelLaunchers(TensorType type);
const TypeLaunchers *superLaunchers(TensorType type);
const TypeLaunchers *largeSuperLaunchers(TensorType type);
const TypeLaunchers *iq1Launchers(TensorType type);
const TypeLaunchers *iq2Launchers(TensorType type);
const TypeLaunchers *iq3Launchers(TensorType type);

/// Of types with planes. Types that large models are stored in have a kernel for each number of rows; for the
/// others, and for exact products, two have to do: each is some KiB of every device's code.
template <class Format>
constexpr TypeLaunchers commonLaunchers()
{
    return {Format::type,
            {launchExactProduct<Format, 1>, launchExactProduct<Format, 8>, launchExactProduct<Format, 8>,
             launchExactProduct<Format, 8>},
            {launchQuantizedProduct<Format, 1>, launchQuantizedProduct<Format, 2>,
             launchQuantizedProduct<Format, 4>, launchQuantizedProduct<Format, 8>},
            launchRowDecode<Format>};
}

template <class Format>
constexpr TypeLaunchers rareLaunchers()
{
    return {Format::type,
            {launchExactProduct<Format, 1>, launchExactProduct<Format, 8>, launchExactProduct<Format, 8>,
             launchExactProduct<Format, 8>},
            {launchQuantizedProduct<Format, 1>, launchQuantizedProduct<Format, 8>,
             launchQuantizedProduct<Format, 8>, launchQuantizedProduct<Format, 8>},
            launchRowDecode<Format>};
}

template <std::size_t count>
const TypeLaunchers *findLaunchers(const TypeLaunchers (&list)[count], TensorType type)
{
    for (const TypeLaunchers &launchers : list) {
        if (launchers.type == type)
            return &launchers;
    }
    return nullptr;
}

} // namespace tokenloupe::cuda
