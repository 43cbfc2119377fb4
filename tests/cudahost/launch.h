// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/cudahost/runtimetypes.h"
#include "tests/cudahost/vectortypes.h"
#include "tests/cudahost/work.h"

#include <functional>
#include <tuple>

namespace cudahost {

struct KernelLaunch
{
    const void *function = nullptr; ///< which kernel
    std::function<void()> thread;   ///< what each thread does
    dim3 grid;
    dim3 block;
    std::size_t sharedBytes = 0;
    bool isEarly = false; ///< its threads may begin before the kernel in front of it has ended
};

/// Checks the launch as the runtime does and hands it to the stream.
cudaError_t launchOn(cudaStream_t stream, KernelLaunch launch);

/// Whether the second of two works is a kernel that begins before the first one has ended: where it may,
/// every other time or so.
bool beginsEarly(const Work &first, const Work &second);
/// Does both so: the threads of one block of the second one run for as long as they do not wait for the first
/// one, then that is done, then the rest.
void runOverlapped(const Work &first, const Work &second);

/// The arguments are copied now, whenever the kernel runs.
template <class... Parameters>
cudaError_t launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t sharedBytes,
                   cudaStream_t stream, bool isEarly, std::tuple<Parameters...> arguments)
{
    KernelLaunch launch;
    launch.function = reinterpret_cast<const void *>(kernel);
    launch.thread = [kernel, arguments = std::move(arguments)] { std::apply(kernel, arguments); };
    launch.grid = grid;
    launch.block = block;
    launch.sharedBytes = sharedBytes;
    launch.isEarly = isEarly;
    return launchOn(stream, std::move(launch));
}

/// Only for kernels: the block's dynamic shared memory, of which the launch has to have asked for so many
/// bytes.
void *sharedMemory(std::size_t bytes);
/// Only for kernels: what the kernels in front of this one wrote is there from now on.
void followPrevious();

} // namespace cudahost
