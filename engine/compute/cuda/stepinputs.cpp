// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/stepinputs.h"

#include <algorithm>

namespace tokenloupe {

namespace {

constexpr std::size_t leastTokens = 256; ///< room for ids that is made at first
constexpr std::uint64_t alignment = 256;

std::uint64_t aligned(std::uint64_t bytes)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace

StepInputs::~StepInputs()
{
    if (m_copied)
        cudaEventDestroy(m_copied);
}

std::int32_t *StepInputs::hostInts(std::uint64_t offset) const
{
    return reinterpret_cast<std::int32_t *>(m_host.data() + offset);
}

const std::int32_t *StepInputs::deviceInts(std::uint64_t offset) const
{
    return reinterpret_cast<const std::int32_t *>(m_device.data() + offset);
}

void StepInputs::layOut(std::size_t tokens, std::size_t tables, std::size_t blocks)
{
    m_mostTokens = tokens;
    m_tables = tables;
    m_tableBlocks = blocks;
    m_idsAt = aligned(2 * sizeof(cuda::StepState));
    m_tablesAt = m_idsAt + aligned(tokens * sizeof(std::int32_t));
    m_bytes = m_tablesAt + tables * aligned(blocks * sizeof(std::int32_t));
}

Status StepInputs::reserve(std::size_t tokens, const KvView *view)
{
    if (Status copied = waitForCopy(); !copied)
        return copied;
    const std::size_t tables = view ? view->tables() : m_tables;
    std::size_t blocks = m_tableBlocks;
    if (view) {
        const std::uint32_t blockTokens = view->shape().blockTokens;
        blocks = (std::size_t(view->contextTokens()) + blockTokens - 1) / blockTokens;
    }
    if (m_device.data() && tokens <= m_mostTokens && tables <= m_tables && blocks <= m_tableBlocks)
        return {};
    layOut(std::max({tokens, m_mostTokens, leastTokens}), std::max(tables, m_tables),
           std::max(blocks, m_tableBlocks));
    m_ids.clear();
    m_blocks.clear();
    m_tokens = 0;
    m_device = {};
    Result<PinnedMemory> host = PinnedMemory::allocate(*m_queue, m_bytes, "a pass's inputs");
    if (!host)
        return tl::unexpected(host.error());
    m_host = std::move(*host);
    std::fill_n(m_host.data(), m_bytes, std::byte{0});
    Result<DeviceMemory> device = DeviceMemory::allocate(m_queue, m_bytes, "a pass's inputs");
    if (!device)
        return tl::unexpected(device.error());
    m_device = std::move(*device);
    return {};
}

Status StepInputs::waitForCopy()
{
    if (Status alive = m_queue->alive(); !alive)
        return alive;
    if (m_copied)
        return m_queue->check(cudaEventSynchronize(m_copied), "wait for a pass's inputs");
    return m_queue->check(cudaEventCreateWithFlags(&m_copied, cudaEventDisableTiming), "make a CUDA event");
}

Status StepInputs::send(std::uint64_t bytes)
{
    const cudaError_t sent =
        cudaMemcpyAsync(m_device.data(), m_host.data(), bytes, cudaMemcpyHostToDevice, m_queue->stream());
    if (Status good = m_queue->check(sent, "copy a pass's inputs"); !good)
        return good;
    return m_queue->check(cudaEventRecord(m_copied, m_queue->stream()), "copy a pass's inputs");
}

bool StepInputs::holdsTables(const KvView &view) const
{
    if (m_blocks.size() != view.tables())
        return false;
    for (std::uint32_t table = 0; table < view.tables(); ++table) {
        const std::span<const BlockId> blocks = view.blocks(table);
        if (!std::equal(blocks.begin(), blocks.end(), m_blocks[table].begin(), m_blocks[table].end()))
            return false;
    }
    return true;
}

void StepInputs::writeTables(const KvView &view)
{
    m_blocks.resize(view.tables());
    for (std::uint32_t table = 0; table < view.tables(); ++table) {
        const std::span<const BlockId> blocks = view.blocks(table);
        m_blocks[table].assign(blocks.begin(), blocks.end());
        std::int32_t *out = hostInts(m_tablesAt + table * aligned(m_tableBlocks * sizeof(std::int32_t)));
        for (const BlockId block : blocks)
            *out++ = block.isValid() ? static_cast<std::int32_t>(block.value()) : -1;
    }
}

Status StepInputs::upload(std::span<const TokenId> ids, std::uint32_t firstPosition, std::int64_t tokens,
                          const KvView *view)
{
    if (Status room = reserve(ids.size(), view); !room)
        return room;
    const auto first = static_cast<std::int32_t>(firstPosition);
    const auto count = static_cast<std::int32_t>(tokens);
    auto *states = reinterpret_cast<cuda::StepState *>(m_host.data());
    states[0] = {first, count};
    states[1] = {first + count - 1, 1};
    m_firstPosition = firstPosition;
    m_tokens = tokens;
    m_ids.assign(ids.begin(), ids.end());
    std::transform(ids.begin(), ids.end(), hostInts(m_idsAt),
                   [](TokenId id) { return static_cast<std::int32_t>(id.value()); });
    if (view)
        writeTables(*view);
    return send(m_bytes);
}

bool StepInputs::holdsState(std::uint32_t firstPosition, std::int64_t tokens) const
{
    const std::int64_t end = std::int64_t(firstPosition) + tokens;
    return m_tokens > 0 && end == m_firstPosition + m_tokens && (tokens == m_tokens || tokens == 1);
}

Result<const cuda::StepState *> StepInputs::state(std::uint32_t firstPosition, std::int64_t tokens)
{
    if (!holdsState(firstPosition, tokens)) {
        const std::vector<TokenId> ids = m_ids;
        if (Status sent = upload(ids, firstPosition, tokens, nullptr); !sent)
            return tl::unexpected(sent.error());
    }
    const auto *states = reinterpret_cast<const cuda::StepState *>(m_device.data());
    return tokens == m_tokens ? states : states + 1;
}

bool StepInputs::holdsIds(std::span<const TokenId> ids) const
{
    return std::equal(ids.begin(), ids.end(), m_ids.begin(), m_ids.end());
}

Result<const std::int32_t *> StepInputs::ids(std::span<const TokenId> ids)
{
    if (!holdsIds(ids)) {
        if (Status sent = upload(ids, m_firstPosition, std::max<std::int64_t>(m_tokens, 1), nullptr); !sent)
            return tl::unexpected(sent.error());
    }
    return deviceInts(m_idsAt);
}

Result<const std::int32_t *> StepInputs::table(const KvView &view, std::uint32_t table)
{
    if (!holdsTables(view)) {
        const std::vector<TokenId> ids = m_ids;
        if (Status sent = upload(ids, m_firstPosition, std::max<std::int64_t>(m_tokens, 1), &view); !sent)
            return tl::unexpected(sent.error());
    }
    return deviceInts(m_tablesAt + table * aligned(m_tableBlocks * sizeof(std::int32_t)));
}

} // namespace tokenloupe
