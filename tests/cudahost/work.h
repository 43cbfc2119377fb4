// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

struct CUstream_st;

namespace cudahost {

struct KernelLaunch;

enum class WorkKind : std::uint8_t { Kernel, Copy, Fill, Free, Record, Wait, HostCall, Graph };

/// One thing that a stream does.
struct Work
{
    WorkKind kind = WorkKind::Wait;
    std::shared_ptr<const KernelLaunch> kernel; ///< of that kind only
    std::function<void()> run;
    /// Not before that stream has done all up to a ticket; null: whenever.
    std::shared_ptr<CUstream_st> after;
    std::uint64_t afterTicket = 0;
};

} // namespace cudahost
