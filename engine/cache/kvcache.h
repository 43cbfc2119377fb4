// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/base/strongindex.h"
#include "engine/cache/blocknotes.h"
#include "engine/cache/blockpool.h"
#include "engine/cache/cachesnapshot.h"
#include "engine/cache/keyphase.h"
#include "engine/cache/kvsequence.h"
#include "engine/cache/kvview.h"
#include "engine/cache/prefixindex.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tokenloupe {

struct KvCacheSettings
{
    KvShape shape;
    std::uint32_t contextTokens = 0; ///< of one sequence
    std::uint32_t sequences = 1;     ///< that may be full at the same time: sets the pools' room
    std::uint32_t batchTokens = 1;   ///< most tokens of one append: windows keep room for them
    KeyPhase keyPhase = KeyPhase::Rotated;
};

/// Keys and values of several sequences in blocks of pools, one pool for each group of layers that see
/// equally far back and lie in the same memory. Sequences with a common prefix share its blocks; what closed
/// and rewound sequences leave stays findable in a prefix index until its room is needed. The pools take
/// exactly the bytes that planKv() gives.
///
/// A sequence grows in two steps: append() makes room and says which tokens the new rows stand for; once the
/// rows are computed, markWritten() makes them count. What was not marked is never found by anybody.
///
/// Engine thread only, no locks.
class KvCache
{
public:
    static Result<KvCache> create(KvCacheSettings settings, const KvAllocator &allocate = hostKvMemory);
    /// An allocator for each of KvShape::memories().
    static Result<KvCache> create(KvCacheSettings settings, const std::vector<KvAllocator> &allocators);

    const KvCacheSettings &settings() const { return m_settings; }
    const KvShape &shape() const { return m_settings.shape; }
    std::uint32_t contextTokens() const { return m_settings.contextTokens; }
    const std::vector<BlockPool> &pools() const { return m_pools; } ///< in the order of KvShape::groups()

    /// An empty sequence; ids are never used twice. Takes no room.
    SequenceId open();
    /// Gives its blocks back; full and partly filled ones stay findable until they are evicted.
    void close(SequenceId id);
    /// Closes it and takes back what it made findable, unless somebody uses that by now.
    void discard(SequenceId id);
    /// A new sequence with the first `tokens` tokens of another, sharing its blocks. Where a window has lost
    /// what these tokens need and the index has not, it holds fewer (see tokens()).
    SequenceId fork(SequenceId id, std::uint32_t tokens);
    /// Makes the sequence hold the longest prefix of `wanted` that it or the index has, and returns its
    /// length. What it held beyond goes to the index. Of a sequence with dropped blocks only what lies before
    /// them counts as a prefix.
    std::uint32_t adopt(SequenceId id, std::span<const TokenId> wanted);

    /// Makes room for more tokens: takes free blocks first, then those that only the index holds, the least
    /// recently used first. ContextFull, and nothing changed, when there is too little. A shared or indexed
    /// block that is partly filled is copied before it is written to.
    Status append(SequenceId id, std::span<const TokenId> tokens);
    /// The rows of all appended tokens are stored: they may be found and shared from now on. One tick of the
    /// clock.
    void markWritten(SequenceId id);
    /// Most tokens that append() would take now.
    std::uint32_t largestAppend(SequenceId id) const;
    /// Keeps the first `tokens` tokens; written ones behind them go to the index. Returns how many were
    /// really kept: where a window has lost what they need, as many as the index can restore.
    std::uint32_t truncate(SequenceId id, std::uint32_t tokens);
    /// Takes `count` full blocks out of the middle; the rest moves up and takes their positions. Later tokens
    /// are never found by others. Unsupported with rotated keys; InvalidArgument for blocks that are not
    /// there or not full, or where a window would then miss blocks that it left behind.
    Status dropBlocks(SequenceId id, std::uint32_t firstBlock, std::uint32_t count);

    bool isOpen(SequenceId id) const { return m_sequences.count(id) > 0; }
    std::uint32_t openSequences() const { return static_cast<std::uint32_t>(m_sequences.size()); }
    std::uint32_t tokens(SequenceId id) const;
    std::span<const TokenId> tokenIds(SequenceId id) const;
    const KvSequence &sequence(SequenceId id) const;
    std::uint64_t usedBytes(SequenceId id) const;  ///< of the blocks in its tables, shared ones too
    std::uint32_t usedBlocks(SequenceId id) const; ///< in its tables, all groups together
    void setRun(SequenceId id, RunId run);
    KvView view(SequenceId id) const { return KvView(*this, id); }

    /// Counts forward passes.
    std::uint64_t clock() const { return m_clock; }
    const CacheCounters &counters() const { return m_counters; }
    /// Everything, with the sequence `active` first; invalid: none is.
    CacheSnapshot snapshot(SequenceId active) const;
    /// Makes all pools resident.
    void commit();

private:
    friend class KvView;
    KvCache(KvCacheSettings settings, std::vector<BlockPool> pools);

    KvSequence &find(SequenceId id);
    std::uint32_t blocksFor(std::uint64_t tokens) const;
    std::uint32_t firstNeededBlock(std::size_t group, std::uint32_t tokens) const;
    bool holdsAllFor(const BlockTables &tables, std::uint32_t tokens) const;
    std::uint32_t usable(const PrefixIndex::Match &match) const;

    std::uint64_t availableBlocks(const KvSequence &sequence, std::size_t group) const;
    std::uint32_t copiesNeeded(const KvSequence &sequence, std::size_t group) const;
    bool isOnlyOurs(std::size_t group, BlockId block) const;
    void leaveWindow(KvSequence &sequence, std::size_t group);
    bool makeFree(std::size_t group);
    BlockId takeBlock(std::size_t group);
    void ownBlock(KvSequence &sequence, std::size_t group, std::size_t index);
    void noteEvicted(std::size_t group, BlockId block);

    void cut(KvSequence &sequence, std::uint32_t tokens);
    void indexWritten(KvSequence &sequence);
    void index(KvSequence &sequence, std::uint32_t tokens);
    std::uint32_t takeFrom(KvSequence &sequence, const PrefixIndex::Match &match,
                           std::span<const TokenId> wanted);
    void releaseAll(const BlockTables &tables);
    CacheBlock snapshotOf(std::size_t group, BlockId block) const;

    KvCacheSettings m_settings;
    std::vector<BlockPool> m_pools;
    std::vector<std::uint32_t> m_groupOf; // by layer; layers that keep nothing are in none
    std::vector<BlockNotes> m_notes;      // by group
    PrefixIndex m_index;
    std::map<SequenceId, KvSequence> m_sequences;
    std::uint32_t m_nextSequence = 0;
    std::uint64_t m_clock = 0;
    CacheCounters m_counters;
};

} // namespace tokenloupe
