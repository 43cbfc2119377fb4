// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"
#include "engine/cache/blockpool.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tokenloupe {

/// Blocks of one sequence: by group, then in order; invalid where a window left the block behind.
using BlockTables = std::vector<std::vector<BlockId>>;

/// Finds blocks by the tokens that they and everything before them stand for: a tree whose nodes are logical
/// blocks. Full nodes have children; partly filled ones are leaves, and none says only what another says too.
/// Tokens are compared one by one. Each block in a node is a reference in its pool. A node may lack the block
/// of a group with a window: what is deeper down can be used without it.
class PrefixIndex
{
public:
    /// A way down from the root.
    struct Match
    {
        std::uint32_t tokens = 0; ///< the last block may agree in its first slots only
        BlockTables tables;
    };
    /// Called for each block whose contents are given up, before it is free.
    using Evicted = std::function<void(std::size_t group, BlockId block)>;

    PrefixIndex(std::uint32_t blockTokens, std::size_t groups);

    /// The longest way that agrees with `wanted`. Counts as a use of all its nodes.
    Match find(std::span<const TokenId> wanted);

    /// Walks down along `tokens` and adds what is missing: references to the blocks of `tables`. Where a
    /// block with the same tokens is there already, `tables` gets it in exchange for its own, so that equal
    /// contents are held once.
    /// Returns the first logical block that was added; all behind it are new too.
    std::size_t insert(std::span<const TokenId> tokens, BlockTables &tables, std::span<BlockPool> pools);

    /// Blocks of `group` that nobody but the index holds.
    std::uint32_t idleBlocks(std::size_t group, const BlockPool &pool) const;
    /// Frees one idle block of `group`, and what of other groups stands for the same tokens: of the leaf that
    /// was used least recently. A group with a window gives up blocks of inner nodes too, those nearest to
    /// the root first. False when no block is idle.
    bool evict(std::size_t group, std::span<BlockPool> pools, const Evicted &evicted);
    /// Takes this block's node, and what is below it, out of the tree.
    void forget(std::size_t group, BlockId block, std::span<BlockPool> pools);

    /// The same where nothing is below it.
    void forgetLeaf(std::size_t group, BlockId block, std::span<BlockPool> pools);

    bool holds(std::size_t group, BlockId block) const;
    std::size_t nodes() const { return m_nodes.size() - m_unused.size() - 1; }

private:
    struct Node
    {
        std::vector<TokenId> tokens;         // at most blockTokens
        std::vector<BlockId> blocks;         // by group
        std::vector<std::uint32_t> children; // sorted by their tokens
        std::uint32_t parent = 0;
        std::uint32_t depth = 0; // of the root: 0
        std::uint64_t lastUse = 0;
        bool isInTree = false;
    };
    struct Child
    {
        std::uint32_t node = 0;
        std::size_t agreeing = 0; // tokens
    };

    std::size_t childPlace(const Node &parent, std::span<const TokenId> tokens) const;
    std::optional<Child> closestChild(const Node &parent, std::span<const TokenId> tokens) const;
    std::uint32_t addNode(std::uint32_t parent, std::span<const TokenId> tokens, std::span<BlockPool> pools);
    bool isCovered(const Node &parent, std::span<const TokenId> tokens) const;
    void fill(std::uint32_t node, std::size_t index, BlockTables &tables, std::span<BlockPool> pools);
    void dropBlock(std::uint32_t node, std::size_t group, std::span<BlockPool> pools, const Evicted &evicted);
    void removeLeaf(std::uint32_t node, std::span<BlockPool> pools, const Evicted &evicted);
    bool isIdle(const Node &node, std::size_t group, const BlockPool &pool) const;
    bool isBelowIdle(std::uint32_t leaf, std::size_t group, const BlockPool &pool) const;
    template <class Wanted>
    std::uint32_t leastRecent(const Wanted &wanted) const;

    std::uint32_t m_blockTokens;
    std::size_t m_groups;
    std::vector<Node> m_nodes; // 0 is the root
    std::vector<std::uint32_t> m_unused;
    std::vector<std::vector<std::uint32_t>> m_nodeOf; // by group and block; 0: in no node
    std::uint64_t m_uses = 0;
};

} // namespace tokenloupe
