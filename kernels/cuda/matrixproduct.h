// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/cublascalls.h"
#include "kernels/cuda/deviceviews.h"

// Products of weights and many rows of activations, for prefill: the weights are unpacked a tile of rows at a
// time and multiplied by cuBLAS.

namespace tokenloupe::cuda {

/// Half: weights and activations are rounded to binary16, sums are float32. Each row of activations is first
/// multiplied by the power of two that brings its largest magnitude to 2^14 … 2^15, so that it neither
/// overflows nor loses its small values. Exact: all float32.
enum class ProductPrecision : std::uint8_t { Exact, Half };

/// Of unpacked weights: few enough that much of a tile is still in the device's second-level cache when it is
/// multiplied, and so many that a product of some hundred rows has work for all multiprocessors.
constexpr std::uint64_t usualTileBytes = std::uint64_t(64) << 20;

/// Scratch of one product. Weights that are stored in the precision's type are multiplied where they are.
struct MatrixProductPlan
{
    std::int64_t tileRows = 0;         ///< rows of weights that are unpacked at a time; 0: they are not
    std::uint64_t tileBytes = 0;       ///< unpacked weights
    std::uint64_t activationBytes = 0; ///< activations in binary16
    std::uint64_t scaleBytes = 0;      ///< one float32 a row of activations
    std::uint64_t bytes = 0;           ///< all of it, each part from a multiple of 256 bytes
    bool isPossible = false;           ///< false: sizes that are none or too large
};

MatrixProductPlan matrixProductPlan(ProductPrecision precision, TensorType type, std::int64_t weightRows,
                                    std::int64_t columns, std::int32_t rows,
                                    std::uint64_t tileBytes = usualTileBytes);

/// y[r][o] = Σ_c W[o][c] · x[r][c] (+ bias[o]). `handle` works on `stream`; `bias` may be null; `scratch` has
/// the bytes of the plan for the same `tileBytes`. A row with a NaN or an infinity becomes NaN where the
/// precision is Half. Does not wait.
cudaError_t multiplyMany(const CublasCalls &cublas, cublasHandle_t handle, ProductPrecision precision,
                         const DeviceWeight &weight, DeviceRows input, const float *bias, void *scratch,
                         DeviceRows output, cudaStream_t stream, std::uint64_t tileBytes = usualTileBytes);

cudaError_t cudaErrorOf(cublasStatus_t status);

} // namespace tokenloupe::cuda
