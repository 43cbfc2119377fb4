// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/cachesnapshot.h"

namespace tokenloupe {

namespace {

/// Sum over all blocks of bytesOf(pool, block).
template <class BytesOf>
std::uint64_t sumOver(const std::vector<CachePool> &pools, const BytesOf &bytesOf)
{
    std::uint64_t sum = 0;
    for (const CachePool &pool : pools) {
        for (const CacheBlock &block : pool.blocks)
            sum += bytesOf(pool, block);
    }
    return sum;
}

} // namespace

std::uint64_t CacheSnapshot::usedBytes() const
{
    return sumOver(pools, [](const CachePool &pool, const CacheBlock &block) {
        return block.ownership == BlockOwnership::Active ? pool.blockBytes : 0;
    });
}

std::uint64_t CacheSnapshot::cachedBytes() const
{
    return sumOver(pools, [](const CachePool &pool, const CacheBlock &block) {
        return block.ownership == BlockOwnership::Cached ? pool.blockBytes : 0;
    });
}

std::uint64_t CacheSnapshot::touchedBytes() const
{
    return sumOver(pools, [](const CachePool &pool, const CacheBlock &block) {
        return pool.isOnHost && block.writtenAt > 0 ? pool.blockBytes : 0;
    });
}

std::uint64_t CacheSnapshot::poolBytes() const
{
    return sumOver(pools, [](const CachePool &pool, const CacheBlock &) { return pool.blockBytes; });
}

std::uint64_t CacheSnapshot::unfilledBytes() const
{
    return sumOver(pools, [this](const CachePool &pool, const CacheBlock &block) -> std::uint64_t {
        if (block.ownership != BlockOwnership::Active || shape.blockTokens == 0)
            return 0;
        return pool.blockBytes / shape.blockTokens * (shape.blockTokens - block.fill);
    });
}

std::uint64_t CacheSnapshot::savedBySharingBytes() const
{
    return sumOver(pools, [](const CachePool &pool, const CacheBlock &block) -> std::uint64_t {
        return block.sequences > 1 ? (block.sequences - 1) * pool.blockBytes : 0;
    });
}

} // namespace tokenloupe
