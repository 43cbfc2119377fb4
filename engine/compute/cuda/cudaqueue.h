// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/compute/cuda/operationclock.h"

#include <cuda_runtime.h>
#include <memory>
#include <optional>
#include <string_view>

namespace tokenloupe {

/// The stream that all work of one backend goes through, and what became of its device: after an error that
/// a device does not recover from, everything else fails in the same way, without touching it again. Shared
/// by whoever holds memory of that device. Engine thread only.
class CudaQueue
{
public:
    /// Makes `device` this thread's and gives it a stream.
    static Result<std::shared_ptr<CudaQueue>> create(int device);
    ~CudaQueue();
    CudaQueue(const CudaQueue &) = delete;
    CudaQueue &operator=(const CudaQueue &) = delete;

    int device() const { return m_device; }
    cudaStream_t stream() const { return m_stream; }
    /// What is launched from now on is this operation, for whoever measures.
    void count(Operation operation) { m_clock.begin(operation, m_stream); }
    OperationClock &clock() { return m_clock; }
    /// DeviceLost once the device is gone.
    Status alive() const;
    bool isLost() const { return m_lost.has_value(); }

    /// What a call or a launch returned, as the engine says it.
    Status check(cudaError_t returned, std::string_view operation);
    Status synchronize(std::string_view operation);

private:
    explicit CudaQueue(int device)
        : m_device(device)
    {}

    int m_device;
    cudaStream_t m_stream = nullptr;
    OperationClock m_clock;
    std::optional<Error> m_lost;
};

/// The kind of error: OutOfMemory; InvalidArgument and Unsupported for calls that were wrong and changed
/// nothing; DeviceLost for all that leaves a device unusable.
ErrorCode errorCodeOf(cudaError_t error);
tl::unexpected<Error> cudaFailure(cudaError_t error, std::string_view operation);

} // namespace tokenloupe
