// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/devicestaging.h"

#include <algorithm>
#include <cstring>

namespace tokenloupe {

Result<DeviceStaging> DeviceStaging::create(std::shared_ptr<CudaQueue> queue, std::uint64_t pieceBytes)
{
    DeviceStaging staging(std::move(queue));
    for (Piece &piece : staging.m_pieces) {
        Result<PinnedMemory> memory =
            PinnedMemory::allocate(*staging.m_queue, pieceBytes, "staging for the weights");
        if (!memory)
            return tl::unexpected(memory.error());
        piece.memory = std::move(*memory);
        const cudaError_t made = cudaEventCreateWithFlags(&piece.copied, cudaEventDisableTiming);
        if (Status good = staging.m_queue->check(made, "make a CUDA event"); !good)
            return tl::unexpected(good.error());
    }
    return staging;
}

DeviceStaging::DeviceStaging(DeviceStaging &&other) noexcept
    : m_queue(std::move(other.m_queue))
    , m_next(other.m_next)
{
    std::swap(m_pieces, other.m_pieces);
}

DeviceStaging::~DeviceStaging()
{
    for (const Piece &piece : m_pieces) {
        if (!piece.copied)
            continue;
        cudaEventSynchronize(piece.copied); // the device may still read from it
        cudaEventDestroy(piece.copied);
    }
}

Status DeviceStaging::copy(std::span<const std::byte> source, std::byte *target, Progress *progress,
                           const std::stop_token &stop)
{
    while (!source.empty()) {
        if (stop.stop_requested())
            return makeError(ErrorCode::Cancelled, "copy to the device");
        Piece &piece = m_pieces[m_next];
        m_next = 1 - m_next;
        if (Status free = m_queue->check(cudaEventSynchronize(piece.copied), "copy to the device"); !free)
            return free;
        const std::size_t bytes = std::min<std::size_t>(source.size(), piece.memory.bytes());
        std::memcpy(piece.memory.data(), source.data(), bytes);
        const cudaError_t sent =
            cudaMemcpyAsync(target, piece.memory.data(), bytes, cudaMemcpyHostToDevice, m_queue->stream());
        if (Status good = m_queue->check(sent, "copy to the device"); !good)
            return good;
        if (Status good =
                m_queue->check(cudaEventRecord(piece.copied, m_queue->stream()), "copy to the device");
            !good)
            return good;
        source = source.subspan(bytes);
        target += bytes;
        if (progress)
            progress->advance(bytes);
    }
    return {};
}

Status DeviceStaging::finish()
{
    return m_queue->synchronize("copy to the device");
}

} // namespace tokenloupe
