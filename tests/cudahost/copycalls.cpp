// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/calls.h"
#include "tests/cudahost/guard.h"
#include "tests/cudahost/runtimeapi.h"

#include <cstring>

using cudahost::Call;
using cudahost::Device;
using cudahost::failed;
using cudahost::Work;
using cudahost::WorkKind;

namespace {

enum class Place { Device, PageLocked, Pageable, Nowhere };

// Where a run of bytes lies. Nowhere: it reaches past the end of memory, or that was freed.
Place placeOf(const Device &device, const void *data, std::size_t bytes)
{
    if (device.memory.contains(data, bytes))
        return Place::Device;
    if (device.hostMemory.contains(data, bytes))
        return Place::PageLocked;
    if (data == nullptr || device.memory.touches(data, bytes) || device.hostMemory.touches(data, bytes))
        return Place::Nowhere;
    return Place::Pageable;
}

bool fits(cudaMemcpyKind kind, bool fromDevice, bool toDevice)
{
    switch (kind) {
    case cudaMemcpyHostToHost:
        return !fromDevice && !toDevice;
    case cudaMemcpyHostToDevice:
        return !fromDevice && toDevice;
    case cudaMemcpyDeviceToHost:
        return fromDevice && !toDevice;
    case cudaMemcpyDeviceToDevice:
        return fromDevice && toDevice;
    case cudaMemcpyDefault:
        return true;
    }
    return false;
}

struct Copy
{
    void *target = nullptr;
    const void *source = nullptr;
    std::size_t bytes = 0;
    Place to = Place::Nowhere;
    Place from = Place::Nowhere;

    bool isOverlapping() const
    {
        const auto a = reinterpret_cast<std::uintptr_t>(target);
        const auto b = reinterpret_cast<std::uintptr_t>(source);
        return a < b + bytes && b < a + bytes;
    }
};

// Memory may have been freed between the call and the copy.
void perform(const Copy &copy)
{
    Device &device = Device::instance();
    const bool targetIsGone =
        copy.to != Place::Pageable && placeOf(device, copy.target, copy.bytes) != copy.to;
    const bool sourceIsGone =
        copy.from != Place::Pageable && placeOf(device, copy.source, copy.bytes) != copy.from;
    if (targetIsGone || sourceIsGone)
        device.recordFault("a copy's " + std::string(targetIsGone ? "target" : "source") +
                               " was freed before the copy was done",
                           cudaErrorIllegalAddress);
    else
        std::memcpy(copy.target, copy.source, copy.bytes);
}

cudaError_t refuse(const Device &device, const std::string &what, cudaError_t error)
{
    device.explain("a copy " + what);
    return failed(error);
}

// `waits`: the call returns when all is done, where CUDA's does.
cudaError_t copyOn(void *target, const void *source, std::size_t bytes, cudaMemcpyKind kind,
                   cudaStream_t handle, bool waits)
{
    const Call call;
    Device &device = call.device;
    if (call.isRefused())
        return call.refusal();
    const std::shared_ptr<CUstream_st> stream = device.streams.find(handle);
    if (stream == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    if (bytes == 0)
        return cudaSuccess;
    if (waits)
        if (const cudaError_t error = device.streams.refuseInCapture(); error != cudaSuccess)
            return failed(error);
    const Copy copy{target, source, bytes, placeOf(device, target, bytes), placeOf(device, source, bytes)};
    if (copy.to == Place::Nowhere || copy.from == Place::Nowhere)
        return refuse(device, "reaches past its memory, or into what was freed", cudaErrorInvalidValue);
    if (!fits(kind, copy.from == Place::Device, copy.to == Place::Device))
        return refuse(device, "goes another way than it says", cudaErrorInvalidValue);
    if (copy.isOverlapping())
        return refuse(device, "overlaps itself", cudaErrorInvalidValue);

    if (stream->capture != nullptr)
        return failed(device.streams.submit(handle, {WorkKind::Copy, nullptr, [copy] { perform(copy); }}));
    // From pageable memory: the numbers are taken now. To pageable memory: they are there when the call
    // returns.
    if (copy.from == Place::Pageable && copy.to == Place::Device) {
        const auto *first = static_cast<const std::byte *>(source);
        const auto run = [copy, staged = std::vector<std::byte>(first, first + bytes)] {
            Copy fromStaged = copy;
            fromStaged.source = staged.data();
            perform(fromStaged);
        };
        const cudaError_t error = device.streams.submit(handle, {WorkKind::Copy, nullptr, run});
        if (waits)
            device.streams.finish(stream);
        return failed(error);
    }
    const cudaError_t error =
        device.streams.submit(handle, {WorkKind::Copy, nullptr, [copy] { perform(copy); }});
    if (error != cudaSuccess)
        return failed(error);
    const bool isBetweenDevices = copy.from == Place::Device && copy.to == Place::Device;
    if (copy.to == Place::Pageable || (waits && !isBetweenDevices))
        device.streams.finish(stream);
    else if (copy.to == Place::PageLocked && !stream->queue.empty())
        cudahost::fillUndefined(static_cast<std::byte *>(target),
                                bytes); // whoever reads it too early sees that
    return call.done();
}

cudaError_t fillOn(void *target, int value, std::size_t bytes, cudaStream_t stream)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    if (bytes == 0)
        return cudaSuccess;
    if (placeOf(call.device, target, bytes) != Place::Device)
        return refuse(call.device, "of one byte reaches past device memory", cudaErrorInvalidValue);
    const auto run = [=, &device = call.device] {
        if (device.memory.contains(target, bytes))
            std::memset(target, value, bytes);
        else
            device.recordFault("memory was freed before it was filled", cudaErrorIllegalAddress);
    };
    return failed(call.device.streams.submit(stream, {WorkKind::Fill, nullptr, run}));
}

} // namespace

cudaError_t cudaMemcpy(void *target, const void *source, std::size_t bytes, cudaMemcpyKind kind)
{
    return copyOn(target, source, bytes, kind, nullptr, true);
}

cudaError_t cudaMemcpyAsync(void *target, const void *source, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return copyOn(target, source, bytes, kind, stream, false);
}

cudaError_t cudaMemset(void *target, int value, std::size_t bytes)
{
    return fillOn(target, value, bytes, nullptr);
}

cudaError_t cudaMemsetAsync(void *target, int value, std::size_t bytes, cudaStream_t stream)
{
    return fillOn(target, value, bytes, stream);
}
