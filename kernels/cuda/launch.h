// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/earlylaunch.h"
#include "kernels/cuda/launchshape.h"

#include <cstddef>
#include <cuda_runtime.h>
#include <tuple>
#include <utility>

// The one way in which kernels are started and get at shared memory, so that the same files run on a device
// and, in tests, on the host: there <cuda_runtime.h> is tests/cudahost's.
//
// On devices of compute capability 9.0 and up a kernel begins while the one in front of it in its stream
// still runs (programmatic dependent launch): its blocks take their places as those of the other one leave
// them, and what it needs of memory that no kernel writes is on its way before the other one's last block has
// ended. So each thread of each kernel calls followPrevious() once, before it reads or writes anything else.
// As that holds for all of them, what is there when it returns is all that was launched before.

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
    const bool isEarly = canBeginEarly(function);
#ifdef __CUDACC__
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = shape.grid;
    configuration.blockDim = shape.block;
    configuration.dynamicSmemBytes = shape.sharedBytes;
    configuration.stream = stream;
    configuration.attrs = &early;
    configuration.numAttrs = isEarly ? 1 : 0;
    return std::apply(
        [&](auto &...value) {
            void *pointers[] = {static_cast<void *>(&value)..., nullptr};
            return cudaLaunchKernelExC(&configuration, function, pointers);
        },
        values);
#else
    return cudahost::launch(kernel, shape.grid, shape.block, shape.sharedBytes, stream, isEarly,
                            std::move(values));
#endif
}

/// Lets the next kernel begin, and waits until what the kernels in front wrote is there.
__device__ inline void followPrevious()
{
#ifndef __CUDACC__
    cudahost::followPrevious();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Brings what lies there closer, into the second cache; may come before followPrevious(), for memory that no
/// kernel writes.
__device__ inline void bringCloser([[maybe_unused]] const std::byte *data)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("prefetch.global.L2 [%0];" ::"l"(data));
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
