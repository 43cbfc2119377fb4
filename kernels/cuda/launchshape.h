// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cuda_runtime.h>

// What functions of the host that choose a launch's geometry need of launch.h.

namespace tokenloupe::cuda {

struct LaunchShape
{
    dim3 grid{1, 1, 1};
    dim3 block{1, 1, 1};
    std::size_t sharedBytes = 0; ///< dynamic shared memory of a block
};

/// Blocks of `size` that cover `count`.
template <class Integer>
__host__ __device__ constexpr Integer ceilDivide(Integer count, Integer size)
{
    return count / size + (count % size != 0 ? 1 : 0); // count + size - 1 might not fit
}

} // namespace tokenloupe::cuda
