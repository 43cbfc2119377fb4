// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/launch.h"

#include <cstdint>

// Right kernels to try the device with, as CUDA engineers write them.

namespace cudahost::test {

/// output[r] = Σ_c input[r][c]: a block a row, through the warps' shuffles and shared memory.
cudaError_t sumRows(const float *input, std::int32_t rows, std::int32_t columns, float *output,
                    unsigned int threads, cudaStream_t stream);
/// target[i] += factor · source[i]; threads that never wait.
cudaError_t addScaled(const float *source, float factor, std::int64_t count, float *target,
                      cudaStream_t stream);

} // namespace cudahost::test
