// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// CUDA's words for where a function or a variable lives mean nothing on the host: all memory is the host's.

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) alignas(bytes)

// note: no __shared__. Static shared memory would be one for all blocks and keep its values between them;
// kernels use sharedMemory<T>().
