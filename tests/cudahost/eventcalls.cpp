// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/calls.h"
#include "tests/cudahost/runtimeapi.h"

#include <utility>

using cudahost::Call;
using cudahost::Capture;
using cudahost::failed;
using cudahost::WorkKind;

namespace {

using Event = std::shared_ptr<CUevent_st>;

cudaError_t waitInCapture(const std::shared_ptr<CUstream_st> &stream, const CUevent_st &event)
{
    if (event.capture == nullptr) { // what came before the capture is no part of the graph
        stream->capture->isBroken = true;
        return cudaErrorStreamCaptureIsolation;
    }
    if (event.capture->hasEnded)
        return cudaErrorCapturedEvent;
    if (stream->capture != nullptr && stream->capture != event.capture) {
        stream->capture->isBroken = true;
        event.capture->isBroken = true;
        return cudaErrorStreamCaptureMerge;
    }
    Capture &capture = *event.capture;
    if (stream->capture == nullptr) {
        stream->capture = event.capture;
        capture.branches[stream.get()] = {event.captured, 0};
    }
    if (const auto branch = capture.branches.find(event.stream.get()); branch != capture.branches.end())
        branch->second.joined = std::max(branch->second.joined, event.captured);
    // Who waits has something of its own that has to be waited for.
    if (const auto branch = capture.branches.find(stream.get()); branch != capture.branches.end())
        branch->second.asked = std::max(branch->second.asked, capture.nodes.size());
    return cudaSuccess;
}

} // namespace

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    if (event == nullptr)
        return failed(cudaErrorInvalidValue);
    *event = call.device.events.create();
    (*event)->flags = flags;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    return failed(call.device.events.destroy(event) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t streamHandle)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const Event event = call.device.events.find(handle);
    const std::shared_ptr<CUstream_st> stream = call.device.streams.find(streamHandle);
    if (event == nullptr || stream == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    event->stream = stream;
    event->capture = stream->capture;
    if (event->capture != nullptr) {
        event->captured = event->capture->nodes.size();
        return failed(event->capture->isBroken ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
    }
    const std::uint64_t recording = ++event->recordings;
    event->wasQueried = false;
    const auto record = [event, recording] {
        event->reached = recording;
        event->time = std::chrono::steady_clock::now();
    };
    return failed(
        call.device.streams.submit(streamHandle, {WorkKind::Record, nullptr, record}, &event->ticket));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t streamHandle, cudaEvent_t handle, unsigned int)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const Event event = call.device.events.find(handle);
    const std::shared_ptr<CUstream_st> stream = call.device.streams.find(streamHandle);
    if (event == nullptr || stream == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    if (stream->capture != nullptr || event->capture != nullptr)
        return failed(waitInCapture(stream, *event));
    if (event->recordings == 0) // nothing to wait for
        return cudaSuccess;
    return failed(call.device.streams.submit(streamHandle,
                                             {WorkKind::Wait, nullptr, {}, event->stream, event->ticket}));
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const Event event = call.device.events.find(handle);
    if (event == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    if (event->capture != nullptr)
        return failed(cudaErrorCapturedEvent);
    if (event->recordings != 0)
        call.device.streams.finish(event->stream, event->ticket);
    return call.done();
}

cudaError_t cudaEventQuery(cudaEvent_t handle)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const Event event = call.device.events.find(handle);
    if (event == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    if (event->capture != nullptr)
        return failed(cudaErrorCapturedEvent);
    if (event->reached == event->recordings)
        return cudaSuccess;
    // As with streams: done by the next time.
    if (!std::exchange(event->wasQueried, true))
        return cudaErrorNotReady;
    call.device.streams.finish(event->stream, event->ticket);
    return call.done();
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t fromHandle, cudaEvent_t toHandle)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const Event from = call.device.events.find(fromHandle);
    const Event to = call.device.events.find(toHandle);
    const auto hasNoTime = [](const Event &event) {
        return event == nullptr || event->recordings == 0 || (event->flags & cudaEventDisableTiming) != 0;
    };
    if (hasNoTime(from) || hasNoTime(to))
        return failed(cudaErrorInvalidResourceHandle);
    if (from->reached != from->recordings || to->reached != to->recordings)
        return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
    return cudaSuccess;
}
