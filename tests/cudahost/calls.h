// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/cudahost/device.h"

#include <mutex>

namespace cudahost {

/// What every call of the runtime begins with: the lock, and whether the device is there.
class Call
{
public:
    Call()
        : device(Device::instance())
        , m_lock(device.mutex())
        , state(device.state())
    {}

    bool isRefused() const { return state != cudaSuccess; }
    cudaError_t refusal() const { return failed(state); }
    /// The call's answer: whatever went wrong in it is remembered.
    cudaError_t done() const { return failed(device.state()); }

    Device &device;

private:
    std::lock_guard<std::recursive_mutex> m_lock;

public:
    const cudaError_t state;
};

} // namespace cudahost
