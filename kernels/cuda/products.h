// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/deviceviews.h"
#include "kernels/cuda/productgeometry.h"

#include <cuda_runtime.h>

// Products of weights and a few rows of activations, for decoding: every weight is read once for all rows.
// y[r][o] = Σ_c W[o][c] · x[r][c] (+ bias[o]). Matrices of one type that share the activations go together:
// one launch, and the same bits as one by one. Launchers check shapes (cudaErrorInvalidValue), start on the
// stream and never wait.

namespace tokenloupe::cuda {

constexpr std::int32_t largestDecodeRows = 8; ///< of one call

struct DeviceProduct
{
    DeviceWeight weight;
    const float *bias = nullptr; ///< may be null
    DeviceRows output;
};

/// Float32 activations; 1 to mostProducts matrices. The order of summation is fixed by the weight's shape: a
/// row of activations gives the same bits alone and among others. Types with blocks want rows of the input
/// aligned to 16 bytes, plain types take any.
cudaError_t multiplyExact(const DeviceProduct *products, std::int32_t count, DeviceRows input,
                          cudaStream_t stream);

/// Integer products within units of 16 or 32 columns (dp4a), one float32 multiply-add for each. As fixed as
/// above.
cudaError_t multiplyQuantized(const DeviceProduct *products, std::int32_t count, const QuantizedRows &input,
                              cudaStream_t stream);

/// Row ids[t] of a table for each token t, as float32. Ids are in device memory and in range.
cudaError_t gatherRows(const DeviceWeight &table, const std::int32_t *ids, DeviceRows output,
                       cudaStream_t stream);

/// target[r] += row (state->firstPosition + r) of the table: learned positions.
cudaError_t addPositionRows(const DeviceWeight &table, const StepState *state, DeviceRows target,
                            cudaStream_t stream);

/// Rows [first, first + count) of a matrix as binary16 (`half`, 4-byte aligned) or float32 in row-major
/// order, for the matrix products of prefill. (F16 and F32 of a multiple of 8 columns lie so already.)
cudaError_t expandHalf(const DeviceWeight &weight, std::int64_t first, std::int64_t count, void *half,
                       cudaStream_t stream);
cudaError_t expandFloat(const DeviceWeight &weight, std::int64_t first, std::int64_t count, float *output,
                        cudaStream_t stream);

} // namespace tokenloupe::cuda
