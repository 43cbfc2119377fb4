// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/base/strongindex.h"
#include "engine/cache/blockpool.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tokenloupe {

/// Blocks of one sequence in order: token t lives in block t / blockTokens, slot t % blockTokens.
struct BlockTable
{
    std::vector<BlockId> blocks;
    std::uint32_t tokens = 0;
};

/// One sequence's keys and values in blocks of a pool. Owned and used by the engine thread.
class KvCache
{
public:
    static Result<KvCache> create(const KvShape &shape, std::uint32_t contextTokens);

    const KvShape &shape() const { return m_pool.shape(); }
    std::uint32_t tokens() const { return m_table.tokens; }
    std::uint32_t contextTokens() const { return m_contextTokens; }
    const BlockTable &table() const { return m_table; }
    const BlockPool &pool() const { return m_pool; }
    BlockPool &pool() { return m_pool; }
    std::uint64_t usedBytes() const; ///< blocks in use × bytes of a block, all layers, K and V
    std::uint32_t usedBlocks() const { return static_cast<std::uint32_t>(m_table.blocks.size()); }

    /// Makes room for `count` more tokens (takes blocks from the pool). ContextFull when they do not fit.
    Status append(std::uint32_t count);
    /// Keeps the first `tokens` tokens; frees the blocks behind them.
    void truncate(std::uint32_t tokens);

private:
    explicit KvCache(BlockPool pool, std::uint32_t contextTokens);
    BlockPool m_pool;
    BlockTable m_table;
    std::uint32_t m_contextTokens = 0;
};

} // namespace tokenloupe
