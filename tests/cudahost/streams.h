// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/cudahost/handles.h"
#include "tests/cudahost/runtimeapi.h"
#include "tests/cudahost/work.h"

#include <deque>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace cudahost {

/// What streams are asked for while a graph is made of it.
struct Capture
{
    const CUstream_st *origin = nullptr;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    std::thread::id thread;
    std::vector<Work> nodes; ///< in the order they were asked for, which keeps to every dependency
    bool isBroken = false;
    bool hasEnded = false;

    /// Of the streams that joined by an event: work so far, and how much of it others have waited for.
    struct Branch
    {
        std::size_t asked = 0;
        std::size_t joined = 0;
    };
    std::map<const CUstream_st *, Branch> branches;
};

} // namespace cudahost

struct CUstream_st
{
    struct Ticketed
    {
        std::uint64_t ticket = 0;
        cudahost::Work work;
    };

    unsigned int flags = cudaStreamDefault;
    std::deque<Ticketed> queue;
    std::uint64_t lastTicket = 0;
    bool wasQueried = false; ///< since there was work last
    std::shared_ptr<cudahost::Capture> capture;
};

namespace cudahost {

/// All streams of the device. Work is numbered in the order in which it was asked for.
class Streams
{
public:
    Streams();
    ~Streams();
    Streams(const Streams &) = delete;
    Streams &operator=(const Streams &) = delete;

    /// What was not done never is.
    void clear();
    cudaStream_t create(unsigned int flags);
    void destroy(const std::shared_ptr<CUstream_st> &stream);
    bool isDefault(const std::shared_ptr<CUstream_st> &stream) const { return stream == m_default; }
    /// Null: there is no such stream.
    std::shared_ptr<CUstream_st> find(cudaStream_t stream) const;

    /// Does it, keeps it for later or takes it up in a graph. The ticket by which others can wait for it.
    cudaError_t submit(cudaStream_t handle, Work work, std::uint64_t *ticket = nullptr);
    /// Does the stream's work up to a ticket.
    void finish(const std::shared_ptr<CUstream_st> &stream, std::uint64_t upTo);
    void finish(const std::shared_ptr<CUstream_st> &stream) { finish(stream, ~std::uint64_t{0}); }
    void finishAll();

    /// What a call returns that must not be made now because a graph is being made; breaks that capture.
    cudaError_t refuseInCapture();
    void leaveCapture(const std::shared_ptr<Capture> &capture);

private:
    cudaError_t waitForDefaultStream(const std::shared_ptr<CUstream_st> &stream);
    void perform(const Work &work);

    std::shared_ptr<CUstream_st> m_default; ///< waits for all streams but non-blocking ones, and they for it
    Handles<CUstream_st> m_streams;
    std::uint64_t m_tickets = 0;
};

} // namespace cudahost
