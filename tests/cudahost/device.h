// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/cudahost/allocations.h"
#include "tests/cudahost/cudahost.h"
#include "tests/cudahost/event.h"
#include "tests/cudahost/graph.h"
#include "tests/cudahost/streams.h"

#include <mutex>
#include <string>
#include <vector>

namespace cudahost {

/// The one device. All calls of the runtime hold its lock.
class Device
{
public:
    static Device &instance();

    std::recursive_mutex &mutex() { return m_mutex; }

    void reset(const Settings &settings);

    /// Changes how it behaves; what is to be done is done first.
    void configure(const Settings &settings);

    /// Says what a call is refused for, which its error code does not tell.
    void explain(const std::string &what) const;
    /// Remembers what went wrong; from then on every call returns `error`.
    void recordFault(const std::string &what, cudaError_t error);
    /// The device is lost without anybody's fault.
    void lose() { m_lost = cudaErrorIllegalAddress; }
    std::vector<std::string> takeFaults();

    /// What any call returns before it does anything: the device is there and not lost.
    cudaError_t state() const;
    /// Bytes of the card that nobody holds; the context is there from now on.
    std::size_t freeBytes();
    /// The same without making a context.
    std::size_t freeBytesSeenFromOutside() const;
    /// Whether the next allocation may have so many bytes more.
    bool grant(std::size_t bytes);
    bool grantHost();
    /// Whether this launch finds the device there.
    bool countLaunch();
    /// Bytes of shared memory that a block can have when the kernel asks for more than the 48 KiB of every
    /// device.
    std::size_t mostSharedBytes() const;
    /// `kernel`: the one that ran last, for the report.
    void checkMemory(const void *kernel = nullptr);

    Settings settings;
    std::uint64_t seed = 1;
    Allocations memory{"device"};
    Allocations hostMemory{"page-locked host"};
    Streams streams;
    Handles<CUevent_st> events;
    Handles<CUgraph_st> graphs;
    Handles<CUgraphExec_st> executables;
    std::map<const void *, std::size_t> sharedLimits; ///< of kernels that asked for more
    std::int64_t launches = 0;
    bool recordsLaunches = false;
    std::vector<LaunchRecord> launchRecords;

private:
    Device();

    bool m_hasContext = false;

    std::recursive_mutex m_mutex;
    cudaError_t m_lost = cudaSuccess;
    std::vector<std::string> m_faults;
};

/// Remembers an error for cudaGetLastError, and returns it.
cudaError_t failed(cudaError_t error);
void forgetLastError();

} // namespace cudahost
