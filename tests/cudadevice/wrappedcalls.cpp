// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudadevice/devicenotes.h"
#include "tests/cudahost/kernelname.h"

#include <cuda_runtime.h>

// The linker hands calls of the runtime (--wrap) to these, which take note and pass them on.

using namespace tokenloupe::test;

extern "C" {

cudaError_t __real_cudaMalloc(void **memory, std::size_t bytes);
cudaError_t __real_cudaFree(void *memory);
cudaError_t __real_cudaMallocHost(void **memory, std::size_t bytes);
cudaError_t __real_cudaFreeHost(void *memory);
cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t *configuration, const void *function,
                                       void **arguments);

cudaError_t __wrap_cudaMalloc(void **memory, std::size_t bytes)
{
    DeviceNotes &notes = deviceNotes();
    {
        const std::lock_guard lock(notes.mutex);
        if (++notes.allocationCalls == notes.settings.failingAllocation)
            return cudaErrorMemoryAllocation;
    }
    if (bytes == 0)
        return __real_cudaMalloc(memory, bytes);
    cudaError_t status = __real_cudaMalloc(memory, bytes + bandBytes);
    if (status != cudaSuccess)
        return status;
    status = cudaMemset(static_cast<unsigned char *>(*memory) + bytes, bandValue, bandBytes);
    const std::lock_guard lock(notes.mutex);
    notes.memory[*memory] = bytes;
    return status;
}

cudaError_t __wrap_cudaFree(void *memory)
{
    DeviceNotes &notes = deviceNotes();
    std::size_t bytes = 0;
    {
        const std::lock_guard lock(notes.mutex);
        if (const auto found = notes.memory.find(memory); found != notes.memory.end()) {
            bytes = found->second;
            notes.memory.erase(found);
        }
    }
    if (bytes > 0)
        checkBand(memory, bytes);
    return __real_cudaFree(memory);
}

cudaError_t __wrap_cudaMallocHost(void **memory, std::size_t bytes)
{
    DeviceNotes &notes = deviceNotes();
    {
        const std::lock_guard lock(notes.mutex);
        if (++notes.hostAllocationCalls == notes.settings.failingHostAllocation)
            return cudaErrorMemoryAllocation;
    }
    const cudaError_t status = __real_cudaMallocHost(memory, bytes);
    const std::lock_guard lock(notes.mutex);
    notes.hostAllocations += status == cudaSuccess ? 1 : 0;
    return status;
}

cudaError_t __wrap_cudaFreeHost(void *memory)
{
    const cudaError_t status = __real_cudaFreeHost(memory);
    DeviceNotes &notes = deviceNotes();
    const std::lock_guard lock(notes.mutex);
    notes.hostAllocations -= status == cudaSuccess && memory ? 1 : 0;
    return status;
}

cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *configuration, const void *function,
                                       void **arguments)
{
    DeviceNotes &notes = deviceNotes();
    {
        const std::lock_guard lock(notes.mutex);
        ++notes.launches;
        if (notes.recordsLaunches)
            notes.recorded.push_back({cudahost::kernelName(function), configuration->gridDim,
                                      configuration->blockDim, configuration->dynamicSmemBytes});
    }
    return __real_cudaLaunchKernelExC(configuration, function, arguments);
}

} // extern "C"
