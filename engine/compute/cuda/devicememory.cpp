// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/devicememory.h"

#include <algorithm>
#include <cuda_runtime.h>
#include <string>

namespace tokenloupe {

namespace {

std::string mebibytes(std::uint64_t bytes)
{
    return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

tl::unexpected<Error> outOfDeviceMemory(std::string_view what, std::uint64_t bytes)
{
    std::string message = std::to_string(bytes) + " bytes (" + mebibytes(bytes) + ") wanted on the device";
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free, &total) == cudaSuccess)
        message += ", " + std::to_string(free) + " (" + mebibytes(free) + ") of its " + mebibytes(total) +
                   " are free";
    else
        cudaGetLastError();
    return makeError(ErrorCode::OutOfMemory, "allocate " + std::string(what), std::move(message));
}

} // namespace

Result<DeviceMemory> DeviceMemory::allocate(const std::shared_ptr<CudaQueue> &queue, std::uint64_t bytes,
                                            std::string_view what)
{
    if (Status alive = queue->alive(); !alive)
        return tl::unexpected(alive.error());
    DeviceMemory memory;
    void *data = nullptr;
    const cudaError_t got = cudaMalloc(&data, std::max<std::uint64_t>(bytes, 1));
    if (got == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return outOfDeviceMemory(what, bytes);
    }
    if (Status good = queue->check(got, "allocate " + std::string(what)); !good)
        return tl::unexpected(good.error());
    memory.m_queue = queue;
    memory.m_data = static_cast<std::byte *>(data);
    memory.m_bytes = bytes;
    return memory;
}

DeviceMemory::~DeviceMemory()
{
    if (m_data)
        cudaFree(m_data);
}

Result<PinnedMemory> PinnedMemory::allocate(CudaQueue &queue, std::uint64_t bytes, std::string_view what)
{
    if (Status alive = queue.alive(); !alive)
        return tl::unexpected(alive.error());
    PinnedMemory memory;
    void *data = nullptr;
    const cudaError_t got = cudaMallocHost(&data, std::max<std::uint64_t>(bytes, 1));
    if (got == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return makeError(ErrorCode::OutOfMemory, "allocate " + std::string(what),
                         std::to_string(bytes) + " bytes of the host's memory wanted that stay in place");
    }
    if (Status good = queue.check(got, "allocate " + std::string(what)); !good)
        return tl::unexpected(good.error());
    memory.m_data = static_cast<std::byte *>(data);
    memory.m_bytes = bytes;
    return memory;
}

PinnedMemory::~PinnedMemory()
{
    if (m_data)
        cudaFreeHost(m_data);
}

} // namespace tokenloupe
