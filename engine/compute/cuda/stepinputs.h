// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"
#include "engine/cache/kvview.h"
#include "engine/compute/cuda/devicememory.h"
#include "kernels/cuda/deviceviews.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tokenloupe {

/// What changes from one forward pass to the next and kernels read from the device: positions, token ids and
/// the numbers of the cache's blocks. It all lies in one piece of pinned memory that is copied once for a
/// pass, to places that stay where they are, so that remembered launches find it.
///
/// On the device: state of the batch, state of its last token, ids (room for `mostTokens`), tables (each with
/// room for a full context).
class StepInputs
{
public:
    explicit StepInputs(std::shared_ptr<CudaQueue> queue)
        : m_queue(std::move(queue))
    {}
    ~StepInputs();
    StepInputs(const StepInputs &) = delete;
    StepInputs &operator=(const StepInputs &) = delete;

    /// Copies them in the order of the stream, those that are there already as well. `view` may be absent:
    /// the tables stay as they are.
    Status upload(std::span<const TokenId> ids, std::uint32_t firstPosition, std::int64_t tokens,
                  const KvView *view);

    /// Of a batch of `tokens` from `firstPosition` on; what is not on the device is brought there.
    Result<const cuda::StepState *> state(std::uint32_t firstPosition, std::int64_t tokens);
    Result<const std::int32_t *> ids(std::span<const TokenId> ids);
    Result<const std::int32_t *> table(const KvView &view, std::uint32_t table);

    /// Whether the calls above would find it on the device as it is.
    bool holdsState(std::uint32_t firstPosition, std::int64_t tokens) const;
    bool holdsIds(std::span<const TokenId> ids) const;
    bool holdsTables(const KvView &view) const;

    /// Changes when the places on the device do.
    const std::byte *place() const { return m_device.data(); }

private:
    Status reserve(std::size_t tokens, const KvView *view);
    void layOut(std::size_t tokens, std::size_t tables, std::size_t blocks);
    void writeTables(const KvView &view);
    Status send(std::uint64_t bytes);
    Status waitForCopy();
    std::int32_t *hostInts(std::uint64_t offset) const;
    const std::int32_t *deviceInts(std::uint64_t offset) const;

    std::shared_ptr<CudaQueue> m_queue;
    PinnedMemory m_host;
    DeviceMemory m_device;
    cudaEvent_t m_copied = nullptr; // of the last copy: until then the pinned memory is the device's to read
    std::size_t m_mostTokens = 0;
    std::size_t m_tables = 0;
    std::size_t m_tableBlocks = 0; // of each
    std::uint64_t m_idsAt = 0;     // offsets in bytes
    std::uint64_t m_tablesAt = 0;
    std::uint64_t m_bytes = 0;

    // What is on the device.
    std::uint32_t m_firstPosition = 0;
    std::int64_t m_tokens = 0;
    std::vector<TokenId> m_ids;
    std::vector<std::vector<BlockId>> m_blocks;
};

} // namespace tokenloupe
