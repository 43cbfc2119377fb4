// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"
#include "engine/cache/blockpool.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tokenloupe {

/// Finds blocks by the tokens that they and everything before them stand for: a tree whose nodes are logical
/// blocks. Full nodes have children; partly filled ones are leaves. Tokens are compared one by one. Each
/// block in a node is a reference in its pool. A node may lack the block of a group with a window: what is
/// deeper down can still be used without it.
class PrefixIndex
{
public:
    /// A way down from the root.
    struct Match
    {
        std::uint32_t tokens = 0;
        std::vector<std::vector<BlockId>> blocks; ///< by logical block, then by group; may hold invalid ids
    };
    /// Called for each block that was given up so that another could have its room.
    using Evicted = std::function<void(std::size_t group, BlockId block)>;

    PrefixIndex(std::uint32_t blockTokens, std::size_t groups);

    /// The longest way that agrees with `wanted`; its last block may agree in its first slots only. Counts as
    /// a use of all its nodes.
    Match find(std::span<const TokenId> wanted);

    /// Walks down along `tokens` and adds what is missing. `tables` (by group, then by logical block) may
    /// lack blocks of windows. Where a full block is there already, `tables` gets it in exchange for its own.
    /// A partly filled last block is added unless a longer one covers it.
    void insert(std::span<const TokenId> tokens, std::vector<std::vector<BlockId>> &tables,
                std::span<BlockPool> pools);

    /// Blocks of `group` that nobody but the index holds.
    std::uint32_t idleBlocks(std::size_t group, const BlockPool &pool) const;
    /// Frees one block of `group`: of the leaf that was used least recently. A group with a window gives up
    /// blocks of inner nodes too. False when no block is idle.
    bool evict(std::size_t group, std::span<BlockPool> pools, const Evicted &evicted);

    std::size_t nodes() const { return m_nodes.size() - m_unused.size() - 1; }
    /// How many references the index holds to this block (0 or 1).
    std::uint32_t references(std::size_t group, BlockId block) const;

private:
    struct Node
    {
        std::vector<TokenId> tokens;         // at most blockTokens
        std::vector<BlockId> blocks;         // by group
        std::vector<std::uint32_t> children; // sorted by their tokens
        std::uint32_t parent = 0;
        std::uint64_t lastUse = 0;
        bool isUsed = false;
    };

    std::uint32_t m_blockTokens;
    std::size_t m_groups;
    std::vector<Node> m_nodes; // 0 is the root
    std::vector<std::uint32_t> m_unused;
    std::uint64_t m_uses = 0;
};

} // namespace tokenloupe
