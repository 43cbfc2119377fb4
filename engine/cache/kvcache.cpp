// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvcache.h"

#include <cassert>
#include <utility>

namespace tokenloupe {

namespace {

std::uint32_t blocksFor(std::uint64_t tokens, std::uint32_t blockTokens)
{
    return static_cast<std::uint32_t>((tokens + blockTokens - 1) / blockTokens);
}

} // namespace

KvCache::KvCache(BlockPool pool, std::uint32_t contextTokens)
    : m_pool(std::move(pool))
    , m_contextTokens(contextTokens)
{}

Result<KvCache> KvCache::create(const KvShape &shape, std::uint32_t contextTokens)
{
    if (contextTokens == 0)
        return makeError(ErrorCode::InvalidArgument, "KV cache", "a context of 0 tokens holds nothing");
    // A block of 0 tokens is refused by the pool, with its own message.
    const std::uint32_t blocks = shape.blockTokens > 0 ? blocksFor(contextTokens, shape.blockTokens) : 1;
    Result<BlockPool> pool = BlockPool::create(shape, blocks);
    if (!pool)
        return tl::unexpected(std::move(pool.error()));
    return KvCache(std::move(*pool), contextTokens);
}

std::uint64_t KvCache::usedBytes() const
{
    return m_table.blocks.size() * shape().bytesPerToken() * shape().blockTokens;
}

Status KvCache::append(std::uint32_t count)
{
    const std::uint64_t wanted = std::uint64_t(m_table.tokens) + count;
    if (wanted > m_contextTokens)
        return makeError(ErrorCode::ContextFull, "KV cache",
                         std::to_string(count) + " more tokens after " + std::to_string(m_table.tokens) +
                             " do not fit into a context of " + std::to_string(m_contextTokens));
    const std::size_t before = m_table.blocks.size();
    const std::uint32_t blocks = blocksFor(wanted, shape().blockTokens);
    while (m_table.blocks.size() < blocks) {
        Result<BlockId> block = m_pool.take();
        if (!block) {
            while (m_table.blocks.size() > before) {
                m_pool.give(m_table.blocks.back());
                m_table.blocks.pop_back();
            }
            return tl::unexpected(std::move(block.error()));
        }
        m_table.blocks.push_back(*block);
    }
    m_table.tokens = static_cast<std::uint32_t>(wanted);
    return {};
}

void KvCache::truncate(std::uint32_t tokens)
{
    assert(tokens <= m_table.tokens);
    const std::uint32_t blocks = blocksFor(tokens, shape().blockTokens);
    while (m_table.blocks.size() > blocks) {
        m_pool.give(m_table.blocks.back());
        m_table.blocks.pop_back();
    }
    m_table.tokens = tokens;
}

} // namespace tokenloupe
