// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/launchshape.h"

#include <cstddef>
#include <cuda_runtime.h>
#include <tuple>
#include <utility>

// The one way in which kernels are started and get at shared memory, so that the same files run on a device
// and, in tests, on the host: there <cuda_runtime.h> is tests/cudahost's.

namespace tokenloupe::cuda {

/// Starts `kernel` on `stream` and returns whether it could be started; never waits.
template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), const LaunchShape &shape, cudaStream_t stream,
                   Arguments &&...arguments)
{
    // More than this has to be asked for by name of the kernel.
    constexpr std::size_t withoutAsking = 48 * 1024;
    const void *function = reinterpret_cast<const void *>(kernel);
    if (shape.sharedBytes > withoutAsking) {
        const cudaError_t granted = cudaFuncSetAttribute(
            function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.sharedBytes));
        if (granted != cudaSuccess)
            return granted;
    }
    std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
#ifdef __CUDACC__
    return std::apply(
        [&](auto &...value) {
            void *pointers[] = {static_cast<void *>(&value)..., nullptr};
            return cudaLaunchKernel(function, shape.grid, shape.block, pointers, shape.sharedBytes, stream);
        },
        values);
#else
    return cudahost::launch(kernel, shape.grid, shape.block, shape.sharedBytes, stream, std::move(values));
#endif
}

/// The block's dynamic shared memory as a T; its contents are undefined at first. The launch has to ask for
/// sizeof(T) bytes or more.
template <class T>
__device__ T &sharedMemory()
{
#ifdef __CUDACC__
    extern __shared__ __align__(16) unsigned char dynamicSharedBytes[];
    return *reinterpret_cast<T *>(dynamicSharedBytes);
#else
    return *reinterpret_cast<T *>(cudahost::sharedMemory(sizeof(T)));
#endif
}

} // namespace tokenloupe::cuda
