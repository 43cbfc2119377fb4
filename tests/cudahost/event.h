// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/cudahost/streams.h"

#include <chrono>

struct CUevent_st
{
    unsigned int flags = cudaEventDefault;
    std::uint64_t recordings = 0; ///< how often it was recorded
    std::uint64_t reached = 0;    ///< the last recording that the stream has come to
    bool wasQueried = false;      ///< since it was recorded
    std::chrono::steady_clock::time_point time;

    std::shared_ptr<CUstream_st> stream; ///< that it was recorded in last
    std::uint64_t ticket = 0;
    std::shared_ptr<cudahost::Capture> capture; ///< where it was recorded in one
    std::size_t captured = 0;                   ///< nodes of the capture up to then
};
