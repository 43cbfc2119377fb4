// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/streams.h"

#include "tests/cudahost/device.h"
#include "tests/cudahost/launch.h"

namespace cudahost {

Streams::Streams()
    : m_default(std::make_shared<CUstream_st>())
{}

Streams::~Streams()
{
    clear();
}

void Streams::clear()
{
    // Work may hold the event that it records, and that its stream.
    m_default->queue.clear();
    for (const auto &[handle, stream] : m_streams.all())
        stream->queue.clear();
    m_default = std::make_shared<CUstream_st>();
    m_streams.clear();
}

cudaStream_t Streams::create(unsigned int flags)
{
    cudaStream_t stream = m_streams.create();
    stream->flags = flags;
    return stream;
}

void Streams::destroy(const std::shared_ptr<CUstream_st> &stream)
{
    finish(stream);
    m_streams.destroy(stream.get());
}

std::shared_ptr<CUstream_st> Streams::find(cudaStream_t stream) const
{
    if (stream == nullptr || stream == cudaStreamLegacy)
        return m_default;
    return m_streams.find(stream);
}

// What the default stream and the blocking ones promise each other.
cudaError_t Streams::waitForDefaultStream(const std::shared_ptr<CUstream_st> &stream)
{
    const auto waitFor = [&](const std::shared_ptr<CUstream_st> &other) {
        if (!other->queue.empty())
            stream->queue.push_back({++m_tickets, {WorkKind::Wait, nullptr, {}, other, other->lastTicket}});
    };
    if (stream != m_default) {
        if ((stream->flags & cudaStreamNonBlocking) == 0)
            waitFor(m_default);
        return cudaSuccess;
    }
    for (const auto &[handle, other] : m_streams.all()) {
        if ((other->flags & cudaStreamNonBlocking) != 0)
            continue;
        if (other->capture != nullptr) {
            other->capture->isBroken = true;
            return cudaErrorStreamCaptureImplicit;
        }
        waitFor(other);
    }
    return cudaSuccess;
}

cudaError_t Streams::submit(cudaStream_t handle, Work work, std::uint64_t *ticket)
{
    const std::shared_ptr<CUstream_st> stream = find(handle);
    if (stream == nullptr)
        return cudaErrorInvalidResourceHandle;
    if (stream->capture != nullptr) {
        Capture &capture = *stream->capture;
        if (capture.isBroken)
            return cudaErrorStreamCaptureInvalidated;
        capture.nodes.push_back(std::move(work));
        if (stream.get() != capture.origin)
            capture.branches[stream.get()].asked = capture.nodes.size();
        return cudaSuccess;
    }
    if (const cudaError_t error = waitForDefaultStream(stream); error != cudaSuccess)
        return error;
    stream->lastTicket = ++m_tickets;
    stream->wasQueried = false;
    if (ticket != nullptr)
        *ticket = stream->lastTicket;
    stream->queue.push_back({stream->lastTicket, std::move(work)});
    if (Device::instance().settings.completion == Completion::AtOnce)
        finish(stream);
    return Device::instance().state();
}

void Streams::perform(const Work &work)
{
    if (work.after != nullptr)
        finish(work.after, work.afterTicket);
    // After the device was lost nothing happens any more.
    if (work.run && Device::instance().state() == cudaSuccess)
        work.run();
}

void Streams::finish(const std::shared_ptr<CUstream_st> &stream, std::uint64_t upTo)
{
    while (!stream->queue.empty() && stream->queue.front().ticket <= upTo) {
        const Work work = std::move(stream->queue.front().work);
        stream->queue.pop_front();
        if (!stream->queue.empty() && stream->queue.front().ticket <= upTo && work.after == nullptr &&
            Device::instance().state() == cudaSuccess && beginsEarly(work, stream->queue.front().work)) {
            const Work next = std::move(stream->queue.front().work);
            stream->queue.pop_front();
            runOverlapped(work, next);
            continue;
        }
        perform(work);
    }
}

void Streams::finishAll()
{
    finish(m_default);
    const auto streams = m_streams.all(); // what is done may destroy some
    for (const auto &[handle, stream] : streams)
        finish(stream);
}

cudaError_t Streams::refuseInCapture()
{
    cudaError_t error = cudaSuccess;
    for (const auto &[handle, stream] : m_streams.all()) {
        if (stream->capture == nullptr)
            continue;
        Capture &capture = *stream->capture;
        const bool isConcerned = capture.mode == cudaStreamCaptureModeGlobal ||
                                 (capture.mode == cudaStreamCaptureModeThreadLocal &&
                                  capture.thread == std::this_thread::get_id());
        if (!isConcerned)
            continue;
        capture.isBroken = true;
        error = cudaErrorStreamCaptureUnsupported;
    }
    return error;
}

void Streams::leaveCapture(const std::shared_ptr<Capture> &capture)
{
    capture->hasEnded = true;
    for (const auto &[handle, stream] : m_streams.all())
        if (stream->capture == capture)
            stream->capture = nullptr;
}

} // namespace cudahost
