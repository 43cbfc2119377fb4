// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/progress.h"
#include "engine/compute/cuda/devicememory.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

namespace tokenloupe {

/// Brings much memory of the host to a device: through two pieces of pinned memory, so that one is filled
/// while the device copies the other.
class DeviceStaging
{
public:
    static Result<DeviceStaging> create(std::shared_ptr<CudaQueue> queue, std::uint64_t pieceBytes);
    ~DeviceStaging();
    DeviceStaging(DeviceStaging &&other) noexcept;
    DeviceStaging &operator=(DeviceStaging &&) = delete;

    /// `source` may change as soon as this returns. Progress counts bytes; Cancelled between two pieces.
    Status copy(std::span<const std::byte> source, std::byte *target, Progress *progress = nullptr,
                const std::stop_token &stop = {});
    /// Waits for all copies.
    Status finish();

private:
    struct Piece
    {
        PinnedMemory memory;
        cudaEvent_t copied = nullptr;
    };

    explicit DeviceStaging(std::shared_ptr<CudaQueue> queue)
        : m_queue(std::move(queue))
    {}

    std::shared_ptr<CudaQueue> m_queue;
    std::array<Piece, 2> m_pieces;
    std::size_t m_next = 0;
};

} // namespace tokenloupe
