// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/calls.h"
#include "tests/cudahost/runtimeapi.h"

using cudahost::Allocations;
using cudahost::Call;
using cudahost::Device;
using cudahost::failed;
using cudahost::WorkKind;

namespace {

cudaError_t allocate(Allocations &allocations, void **data, std::size_t bytes, bool isGranted)
{
    *data = nullptr;
    if (bytes == 0)
        return cudaSuccess;
    if (isGranted)
        *data = allocations.allocate(bytes);
    return failed(*data != nullptr ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t release(Device &device, Allocations &allocations, void *data)
{
    std::optional<std::string> fault;
    if (!allocations.release(data, fault))
        return failed(cudaErrorInvalidValue);
    if (fault)
        device.recordFault(*fault, cudaErrorIllegalAddress);
    return failed(device.state());
}

// Freeing waits for everything that the device still has to do.
cudaError_t releaseNow(Allocations &allocations, void *data)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    if (data == nullptr)
        return cudaSuccess;
    if (const cudaError_t error = call.device.streams.refuseInCapture(); error != cudaSuccess)
        return failed(error);
    call.device.streams.finishAll();
    return release(call.device, allocations, data);
}

} // namespace

cudaError_t cudaMalloc(void **data, std::size_t bytes)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    if (data == nullptr)
        return failed(cudaErrorInvalidValue);
    if (const cudaError_t error = call.device.streams.refuseInCapture(); error != cudaSuccess)
        return failed(error);
    return allocate(call.device.memory, data, bytes, bytes == 0 || call.device.grant(bytes));
}

cudaError_t cudaFree(void *data)
{
    return releaseNow(Device::instance().memory, data);
}

// The memory is there at once, which a stream's order allows.
cudaError_t cudaMallocAsync(void **data, std::size_t bytes, cudaStream_t stream)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    if (data == nullptr)
        return failed(cudaErrorInvalidValue);
    if (call.device.streams.find(stream) == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    return allocate(call.device.memory, data, bytes, bytes == 0 || call.device.grant(bytes));
}

cudaError_t cudaFreeAsync(void *data, cudaStream_t stream)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    if (data == nullptr)
        return cudaSuccess;
    if (!call.device.memory.contains(data, 1))
        return failed(cudaErrorInvalidValue);
    const auto run = [data, &device = call.device] { release(device, device.memory, data); };
    return failed(call.device.streams.submit(stream, {WorkKind::Free, nullptr, run}));
}

cudaError_t cudaHostAlloc(void **data, std::size_t bytes, unsigned int)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    if (data == nullptr)
        return failed(cudaErrorInvalidValue);
    if (const cudaError_t error = call.device.streams.refuseInCapture(); error != cudaSuccess)
        return failed(error);
    return allocate(call.device.hostMemory, data, bytes, bytes == 0 || call.device.grantHost());
}

cudaError_t cudaMallocHost(void **data, std::size_t bytes, unsigned int flags)
{
    return cudaHostAlloc(data, bytes, flags);
}

cudaError_t cudaFreeHost(void *data)
{
    return releaseNow(Device::instance().hostMemory, data);
}

cudaError_t cudaMemGetInfo(std::size_t *freeBytes, std::size_t *totalBytes)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    *totalBytes = call.device.settings.cardBytes;
    *freeBytes = call.device.freeBytes();
    return cudaSuccess;
}
