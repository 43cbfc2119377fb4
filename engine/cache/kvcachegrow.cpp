// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvcache.h"

#include <algorithm>
#include <cassert>

namespace tokenloupe {

Status KvCache::append(SequenceId id, std::span<const TokenId> tokens)
{
    KvSequence &sequence = find(id);
    const std::vector<TokenId> added(tokens.begin(), tokens.end()); // it may be a view of this sequence's
    const std::uint64_t wanted = sequence.tokens.size() + added.size();
    if (wanted > m_settings.contextTokens)
        return makeError(ErrorCode::ContextFull, "KV cache",
                         std::to_string(added.size()) + " more tokens after " +
                             std::to_string(sequence.tokens.size()) + " do not fit into a context of " +
                             std::to_string(m_settings.contextTokens));
    if (added.empty())
        return {};
    for (std::size_t group = 0; group < m_pools.size(); ++group) {
        const std::uint64_t needed =
            blocksFor(wanted) - sequence.tables[group].size() + copiesNeeded(sequence, group);
        const std::uint64_t available = availableBlocks(sequence, group);
        if (needed > available)
            return makeError(ErrorCode::ContextFull, "KV cache",
                             std::to_string(added.size()) + " more tokens need " + std::to_string(needed) +
                                 " blocks, of " + std::to_string(m_pools[group].capacity()) + " only " +
                                 std::to_string(available) + " are not in use");
    }
    for (std::size_t group = 0; group < m_pools.size(); ++group) {
        leaveWindow(sequence, group);
        const std::size_t last = sequence.tables[group].size();
        while (sequence.tables[group].size() < blocksFor(wanted))
            sequence.tables[group].push_back(takeBlock(group));
        if (last > 0 && sequence.tokens.size() % shape().blockTokens != 0)
            ownBlock(sequence, group, last - 1);
    }
    sequence.tokens.insert(sequence.tokens.end(), added.begin(), added.end());
    return {};
}

void KvCache::markWritten(SequenceId id)
{
    KvSequence &sequence = find(id);
    const std::uint32_t blockTokens = shape().blockTokens;
    const auto end = static_cast<std::uint32_t>(sequence.tokens.size());
    const std::uint32_t before = sequence.written;
    ++m_clock;
    m_counters.writtenTokens += end - before;
    sequence.written = end;
    for (std::uint32_t position = before; position < end;) {
        const std::uint32_t slot = position % blockTokens;
        const std::uint32_t count = std::min(end - position, blockTokens - slot);
        for (std::size_t group = 0; group < m_pools.size(); ++group) {
            const BlockId block = sequence.tables[group][position / blockTokens];
            m_notes[group].setTokens(block, slot, std::span(sequence.tokens).subspan(position, count));
            BlockNotes::Note &note = m_notes[group].of(block);
            note.firstPosition = position - slot;
            note.writtenAt = m_clock;
        }
        position += count;
    }
    const std::uint32_t full = std::min(end, sequence.pureTokens) / blockTokens * blockTokens;
    if (full > before / blockTokens * blockTokens)
        index(sequence, full);
}

std::uint32_t KvCache::largestAppend(SequenceId id) const
{
    const KvSequence &own = sequence(id);
    const auto tokens = static_cast<std::uint32_t>(own.tokens.size());
    std::uint64_t most = m_settings.contextTokens - tokens;
    const std::uint64_t slots = std::uint64_t(blocksFor(tokens)) * shape().blockTokens - tokens;
    for (std::size_t group = 0; group < m_pools.size(); ++group) {
        const std::uint64_t available = availableBlocks(own, group);
        const std::uint64_t copies = copiesNeeded(own, group);
        most = std::min(most, available < copies ? 0 : slots + (available - copies) * shape().blockTokens);
    }
    return static_cast<std::uint32_t>(most);
}

/// Blocks of `group` that the sequence could have: free ones, those that only the index holds, and its own
/// that the window of the next token no longer reaches.
std::uint64_t KvCache::availableBlocks(const KvSequence &sequence, std::size_t group) const
{
    const BlockPool &pool = m_pools[group];
    std::uint64_t blocks = std::uint64_t(pool.freeBlocks()) + m_index.idleBlocks(group, pool);
    const std::vector<BlockId> &table = sequence.tables[group];
    const std::size_t end = std::min<std::size_t>(
        firstNeededBlock(group, static_cast<std::uint32_t>(sequence.tokens.size())), table.size());
    for (std::size_t index = 0; index < end; ++index) {
        const BlockId block = table[index];
        if (block.isValid() && isOnlyOurs(group, block))
            ++blocks;
    }
    return blocks;
}

/// Whether nobody but one sequence, and perhaps the index, holds this block.
bool KvCache::isOnlyOurs(std::size_t group, BlockId block) const
{
    return m_pools[group].references(block) == (m_index.holds(group, block) ? 2U : 1U);
}

/// Blocks needed to write behind the last token without touching what others hold. What only the index holds
/// too can be taken out of it when there is no room for a copy.
std::uint32_t KvCache::copiesNeeded(const KvSequence &sequence, std::size_t group) const
{
    if (sequence.tokens.size() % shape().blockTokens == 0)
        return 0;
    return isOnlyOurs(group, sequence.tables[group].back()) ? 0 : 1;
}

void KvCache::leaveWindow(KvSequence &sequence, std::size_t group)
{
    std::vector<BlockId> &table = sequence.tables[group];
    const std::size_t end = std::min<std::size_t>(
        firstNeededBlock(group, static_cast<std::uint32_t>(sequence.tokens.size())), table.size());
    // What was left behind before lies at the front.
    for (std::size_t index = end; index > 0 && table[index - 1].isValid(); --index) {
        m_pools[group].release(table[index - 1]);
        table[index - 1] = BlockId();
    }
}

/// A free block, or one that is made free.
bool KvCache::makeFree(std::size_t group)
{
    if (m_pools[group].freeBlocks() > 0)
        return true;
    return m_index.evict(group, m_pools, [this](std::size_t of, BlockId block) { noteEvicted(of, block); });
}

void KvCache::noteEvicted(std::size_t group, BlockId block)
{
    ++m_counters.evictedBlocks;
    m_notes[group].of(block).evictedAt = m_clock;
}

BlockId KvCache::takeBlock(std::size_t group)
{
    [[maybe_unused]] const bool isFree = makeFree(group);
    assert(isFree); // append() counted before
    const BlockId block = *m_pools[group].take();
    m_notes[group].of(block).fill = 0;
    return block;
}

/// The partly filled block at `index` becomes one that nobody else holds.
void KvCache::ownBlock(KvSequence &sequence, std::size_t group, std::size_t index)
{
    BlockId &shared = sequence.tables[group][index];
    BlockPool &pool = m_pools[group];
    if (pool.references(shared) == 1)
        return;
    BlockNotes &notes = m_notes[group];
    const auto slots = static_cast<std::uint32_t>(sequence.tokens.size() % shape().blockTokens);
    if (isOnlyOurs(group, shared) && !makeFree(group)) {
        noteEvicted(group, shared);
        m_index.forget(group, shared, m_pools);
        notes.of(shared).fill = slots;
        return;
    }
    const BlockId copy = takeBlock(group);
    pool.copySlots(shared, copy, slots);
    notes.setTokens(copy, 0, notes.tokens(shared).first(slots));
    notes.of(copy).firstPosition = notes.of(shared).firstPosition;
    notes.of(copy).writtenAt = notes.of(shared).writtenAt;
    pool.release(shared);
    shared = copy;
    ++m_counters.copiedBlocks;
}

} // namespace tokenloupe
