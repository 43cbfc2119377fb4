// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvcache.h"

#include <algorithm>

namespace tokenloupe {

std::uint64_t KvCache::usedBytes(SequenceId id) const
{
    const KvSequence &own = sequence(id);
    std::uint64_t bytes = 0;
    for (std::size_t group = 0; group < m_pools.size(); ++group) {
        const auto held = std::count_if(own.tables[group].begin(), own.tables[group].end(),
                                        [](BlockId block) { return block.isValid(); });
        bytes += static_cast<std::uint64_t>(held) * m_pools[group].blockBytes();
    }
    return bytes;
}

std::uint32_t KvCache::usedBlocks(SequenceId id) const
{
    std::uint32_t blocks = 0;
    for (const std::vector<BlockId> &table : sequence(id).tables)
        blocks += static_cast<std::uint32_t>(
            std::count_if(table.begin(), table.end(), [](BlockId block) { return block.isValid(); }));
    return blocks;
}

void KvCache::commit()
{
    for (BlockPool &pool : m_pools)
        pool.commit();
}

/// What is known of a block apart from the sequences that hold it.
CacheBlock KvCache::snapshotOf(std::size_t group, BlockId block) const
{
    const BlockNotes::Note &note = m_notes[group].of(block);
    CacheBlock shown;
    shown.writtenAt = note.writtenAt;
    shown.evictedAt = note.evictedAt;
    if (m_pools[group].references(block) == 0)
        return shown;
    shown.ownership = BlockOwnership::Cached;
    shown.fill = note.fill;
    shown.firstPosition = note.firstPosition;
    const std::span<const TokenId> tokens = m_notes[group].tokens(block);
    shown.tokens.assign(tokens.begin(), tokens.end());
    return shown;
}

CacheSnapshot KvCache::snapshot(SequenceId active) const
{
    CacheSnapshot shown;
    shown.shape = shape();
    shown.contextTokens = m_settings.contextTokens;
    shown.clock = m_clock;
    shown.counters = m_counters;
    for (std::size_t group = 0; group < m_pools.size(); ++group) {
        const BlockPool &pool = m_pools[group];
        CachePool &all = shown.pools.emplace_back();
        all.window = pool.group().window;
        all.layers = pool.group().layers;
        all.blockBytes = pool.blockBytes();
        all.isOnHost = pool.isOnHost();
        for (std::uint32_t block = 0; block < pool.capacity(); ++block)
            all.blocks.push_back(snapshotOf(group, BlockId(block)));
    }
    // Positions as the active sequence sees them where it holds the block, so it comes last here.
    const auto add = [&](const KvSequence &sequence) {
        const auto tokens = static_cast<std::uint32_t>(sequence.tokens.size());
        shown.sequences.push_back({sequence.id, sequence.run, tokens, sequence.tables});
        for (std::size_t group = 0; group < m_pools.size(); ++group) {
            for (std::uint32_t index = 0; index < sequence.tables[group].size(); ++index) {
                const BlockId id = sequence.tables[group][index];
                if (!id.isValid())
                    continue;
                CacheBlock &block = shown.pools[group].blocks[id.value()];
                block.ownership = BlockOwnership::Active;
                ++block.sequences;
                block.firstPosition = index * shape().blockTokens;
                block.prefixHit = sequence.id == active && block.firstPosition < sequence.hitTokens;
            }
        }
    };
    for (const auto &[id, sequence] : m_sequences) {
        if (id != active)
            add(sequence);
    }
    if (isOpen(active)) {
        add(sequence(active));
        std::rotate(shown.sequences.begin(), shown.sequences.end() - 1, shown.sequences.end());
    }
    return shown;
}

} // namespace tokenloupe
