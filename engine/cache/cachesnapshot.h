// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"
#include "engine/cache/kvshape.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tokenloupe {

enum class BlockOwnership : std::uint8_t {
    Free,   ///< nobody's
    Active, ///< in the table of at least one open sequence
    Cached, ///< of no open sequence; kept because its tokens may come again
};

/// One block of a pool at a moment.
struct CacheBlock
{
    BlockOwnership ownership = BlockOwnership::Free;
    std::uint32_t fill = 0;          ///< tokens inside
    std::uint32_t sequences = 0;     ///< open sequences that share it
    std::uint32_t firstPosition = 0; ///< in the sequence that owns or left it, of its first slot
    bool prefixHit = false;          ///< the shown run found it ready instead of computing it
    std::uint64_t writtenAt = 0;     ///< CacheSnapshot::clock of the last write; 0: never
    std::uint64_t evictedAt = 0;     ///< clock at which its content was last given up for another; 0: never
    std::vector<TokenId> tokens;     ///< what its slots stand for
};

/// Blocks of the layers that see equally far back and lie in the same memory.
struct CachePool
{
    std::uint32_t window = 0; ///< 0: all positions
    std::vector<std::uint32_t> layers;
    std::uint64_t blockBytes = 0;
    std::vector<CacheBlock> blocks; ///< by BlockId
    bool isOnHost = true;           ///< in the host's memory, not a device's
};

/// One open sequence.
struct CacheSequence
{
    SequenceId id;
    RunId run; ///< invalid: of no run
    std::uint32_t tokens = 0;
    std::vector<std::vector<BlockId>> tables; ///< per pool; invalid where the window left the block behind
};

/// What happened since the cache was made.
struct CacheCounters
{
    std::uint64_t promptTokens = 0;  ///< asked for at the prefix index
    std::uint64_t hitTokens = 0;     ///< of those: found
    std::uint64_t writtenTokens = 0; ///< computed and stored
    std::uint64_t copiedBlocks = 0;  ///< copy-on-write
    std::uint64_t evictedBlocks = 0; ///< contents given up for others
    std::uint64_t droppedTokens = 0; ///< left the context by the overflow policy
    std::uint64_t droppedTurns = 0;  ///< of a conversation, by the overflow policy

    bool operator==(const CacheCounters &) const = default;
};

/// The cache at a moment, as the window shows it. Immutable.
struct CacheSnapshot
{
    KvShape shape;
    std::uint32_t contextTokens = 0;
    std::uint64_t clock = 0; ///< counts forward passes: blocks with writtenAt == clock were just written
    std::vector<CachePool> pools;
    std::vector<CacheSequence> sequences; ///< the active one first
    CacheCounters counters;

    std::uint64_t usedBytes() const;    ///< of blocks in open sequences, each counted once
    std::uint64_t cachedBytes() const;  ///< of blocks kept for later
    std::uint64_t touchedBytes() const; ///< of the host's blocks that were ever written: what is resident
    std::uint64_t poolBytes() const;    ///< of all blocks
    /// Bytes in blocks of open sequences that hold no token yet: what paging wastes.
    std::uint64_t unfilledBytes() const;
    /// Bytes that are held more than once when every sequence owns its own copy, beyond what blocks hold now:
    /// what sharing saves.
    std::uint64_t savedBySharingBytes() const;
};

} // namespace tokenloupe
