// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/calls.h"
#include "tests/cudahost/runtimeapi.h"

#include <utility>

using cudahost::Call;
using cudahost::failed;
using cudahost::Work;
using cudahost::WorkKind;

namespace {

using Stream = std::shared_ptr<CUstream_st>;

// What waiting for the stream on the host fails with: it has nothing to wait for while a graph is made of it.
cudaError_t whyNotWait(const Call &call, const Stream &stream)
{
    if (stream == nullptr)
        return cudaErrorInvalidResourceHandle;
    if (stream->capture != nullptr) {
        stream->capture->isBroken = true;
        return cudaErrorStreamCaptureUnsupported;
    }
    return call.device.streams.isDefault(stream) ? call.device.streams.refuseInCapture() : cudaSuccess;
}

} // namespace

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    if (stream == nullptr || flags > cudaStreamNonBlocking)
        return failed(cudaErrorInvalidValue);
    *stream = call.device.streams.create(flags);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int)
{
    return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const Stream stream = call.device.streams.find(handle);
    if (stream == nullptr || call.device.streams.isDefault(stream))
        return failed(cudaErrorInvalidResourceHandle);
    call.device.streams.destroy(stream);
    return call.done();
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const Stream stream = call.device.streams.find(handle);
    if (const cudaError_t error = whyNotWait(call, stream); error != cudaSuccess)
        return failed(error);
    if (call.device.streams.isDefault(stream))
        call.device.streams.submit(nullptr, {WorkKind::Wait}); // for the streams that it waits for
    call.device.streams.finish(stream);
    return call.done();
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const Stream stream = call.device.streams.find(handle);
    if (const cudaError_t error = whyNotWait(call, stream); error != cudaSuccess)
        return failed(error);
    // Not ready when first asked; done by the next time, so that whoever asks again and again gets on.
    if (!stream->queue.empty() && !std::exchange(stream->wasQueried, true))
        return cudaErrorNotReady;
    call.device.streams.finish(stream);
    return call.done();
}

cudaError_t cudaDeviceSynchronize()
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    if (const cudaError_t error = call.device.streams.refuseInCapture(); error != cudaSuccess)
        return failed(error);
    call.device.streams.finishAll();
    return call.done();
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    return failed(
        call.device.streams.submit(stream, {WorkKind::HostCall, nullptr, [=] { function(argument); }}));
}
