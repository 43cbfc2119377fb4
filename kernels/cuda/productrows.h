// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/deviceviews.h"

#include <cuda_runtime.h>

// What comes before and after a matrix product in binary16. Launchers check shapes (cudaErrorInvalidValue),
// start on the stream and never wait.

namespace tokenloupe::cuda {

/// Each row times a power of two, as binary16; half: (rows × stride). scales[r] times the result of a product
/// takes the power out again; it is NaN for a row with a NaN or an infinity.
cudaError_t scaleToHalf(DeviceRows input, void *half, std::int64_t stride, float *scales,
                        cudaStream_t stream);

/// target[r][c] = target[r][c] · scales[r] + bias[c]; either may be null, but not both.
cudaError_t finishProduct(DeviceRows target, const float *scales, const float *bias, cudaStream_t stream);

} // namespace tokenloupe::cuda
