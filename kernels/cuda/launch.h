// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cuda_runtime.h>
#include <tuple>
#include <utility>

// The one way in which kernels are started and get at shared memory, so that the same files run on a device
// and, in tests, on the host: there <cuda_runtime.h> is tests/cudahost's.

namespace tokenloupe::cuda {

struct LaunchShape
{
    dim3 grid{1, 1, 1};
    dim3 block{1, 1, 1};
    std::size_t sharedBytes = 0; ///< dynamic shared memory of a block
};

#ifdef __CUDACC__

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
    return std::apply(
        [&](auto &...value) {
            void *pointers[] = {static_cast<void *>(&value)..., nullptr};
            return cudaLaunchKernel(function, shape.grid, shape.block, pointers, shape.sharedBytes, stream);
        },
        values);
}

/// The block's dynamic shared memory as a T; its contents are undefined at first. The launch has to ask for
/// sizeof(T) bytes or more.
template <class T>
__device__ T &sharedMemory()
{
    extern __shared__ __align__(16) unsigned char dynamicSharedBytes[];
    return *reinterpret_cast<T *>(dynamicSharedBytes);
}

#else

template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), const LaunchShape &shape, cudaStream_t stream,
                   Arguments &&...arguments)
{
    return cudahost::launch(kernel, shape.grid, shape.block, shape.sharedBytes, stream,
                            std::tuple<Parameters...>(std::forward<Arguments>(arguments)...));
}

template <class T>
T &sharedMemory()
{
    return *reinterpret_cast<T *>(cudahost::sharedMemory(sizeof(T)));
}

#endif

/// Blocks of `size` that cover `count`.
template <class Integer>
__host__ __device__ constexpr Integer ceilDivide(Integer count, Integer size)
{
    return (count + size - 1) / size;
}

} // namespace tokenloupe::cuda
