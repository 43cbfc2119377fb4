// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/prefixindex.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace tokenloupe {

namespace {

std::size_t commonPrefix(std::span<const TokenId> a, std::span<const TokenId> b)
{
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

bool startsWith(std::span<const TokenId> tokens, std::span<const TokenId> prefix)
{
    return commonPrefix(tokens, prefix) == prefix.size();
}

} // namespace

PrefixIndex::PrefixIndex(std::uint32_t blockTokens, std::size_t groups)
    : m_blockTokens(blockTokens)
    , m_groups(groups)
    , m_nodes(1)
    , m_nodeOf(groups)
{}

/// Where in the sorted children `tokens` are or would be.
std::size_t PrefixIndex::childPlace(const Node &parent, std::span<const TokenId> tokens) const
{
    const auto isBefore = [this](std::uint32_t child, std::span<const TokenId> wanted) {
        const std::vector<TokenId> &own = m_nodes[child].tokens;
        return std::lexicographical_compare(own.begin(), own.end(), wanted.begin(), wanted.end());
    };
    return static_cast<std::size_t>(
        std::lower_bound(parent.children.begin(), parent.children.end(), tokens, isBefore) -
        parent.children.begin());
}

/// The child that agrees with most of `tokens`: sorted as they are, it is a neighbour of their place.
std::optional<PrefixIndex::Child> PrefixIndex::closestChild(const Node &parent,
                                                            std::span<const TokenId> tokens) const
{
    const std::size_t place = childPlace(parent, tokens);
    std::optional<Child> closest;
    const std::size_t end = std::min(place + 1, parent.children.size());
    for (std::size_t at = place > 0 ? place - 1 : 0; at < end; ++at) {
        const std::uint32_t node = parent.children[at];
        const std::size_t agreeing = commonPrefix(m_nodes[node].tokens, tokens);
        if (agreeing > 0 && (!closest || agreeing > closest->agreeing))
            closest = Child{node, agreeing};
    }
    return closest;
}

PrefixIndex::Match PrefixIndex::find(std::span<const TokenId> wanted)
{
    Match match;
    match.tables.resize(m_groups);
    ++m_uses;
    std::uint32_t node = 0;
    while (match.tokens < wanted.size()) {
        const auto rest = wanted.subspan(match.tokens);
        const auto child =
            closestChild(m_nodes[node], rest.first(std::min<std::size_t>(rest.size(), m_blockTokens)));
        if (!child)
            break;
        node = child->node;
        m_nodes[node].lastUse = m_uses;
        for (std::size_t group = 0; group < m_groups; ++group)
            match.tables[group].push_back(m_nodes[node].blocks[group]);
        match.tokens += static_cast<std::uint32_t>(child->agreeing);
        if (child->agreeing < m_blockTokens)
            break;
    }
    return match;
}

std::size_t PrefixIndex::insert(std::span<const TokenId> tokens, BlockTables &tables,
                                std::span<BlockPool> pools)
{
    ++m_uses;
    std::uint32_t node = 0;
    std::size_t index = 0;
    std::optional<std::size_t> firstAdded;
    for (; index * m_blockTokens < tokens.size(); ++index) {
        const auto rest = tokens.subspan(index * m_blockTokens);
        const auto own = rest.first(std::min<std::size_t>(rest.size(), m_blockTokens));
        const auto child = closestChild(m_nodes[node], own);
        const bool isThere =
            child && child->agreeing == own.size() && m_nodes[child->node].tokens.size() == own.size();
        if (!isThere && isCovered(m_nodes[node], own))
            break;
        if (!isThere && !firstAdded)
            firstAdded = index;
        node = isThere ? child->node : addNode(node, own, pools);
        m_nodes[node].lastUse = m_uses;
        fill(node, index, tables, pools);
    }
    return firstAdded.value_or(index);
}

/// Whether another child says all that `tokens` say, and more.
bool PrefixIndex::isCovered(const Node &parent, std::span<const TokenId> tokens) const
{
    const std::size_t place = childPlace(parent, tokens);
    return place < parent.children.size() && startsWith(m_nodes[parent.children[place]].tokens, tokens);
}

std::uint32_t PrefixIndex::addNode(std::uint32_t parent, std::span<const TokenId> tokens,
                                   std::span<BlockPool> pools)
{
    std::uint32_t added = static_cast<std::uint32_t>(m_nodes.size());
    if (m_unused.empty()) {
        m_nodes.emplace_back();
    } else {
        added = m_unused.back();
        m_unused.pop_back();
    }
    Node &node = m_nodes[added];
    node.tokens.assign(tokens.begin(), tokens.end());
    node.blocks.assign(m_groups, BlockId());
    node.parent = parent;
    node.depth = m_nodes[parent].depth + 1;
    node.isInTree = true;
    const std::size_t place = childPlace(m_nodes[parent], tokens);
    std::vector<std::uint32_t> &children = m_nodes[parent].children;
    children.insert(children.begin() + static_cast<std::ptrdiff_t>(place), added);
    // A shorter one that says nothing else comes right before, since none is covered by another.
    if (place > 0 && startsWith(tokens, m_nodes[children[place - 1]].tokens))
        removeLeaf(children[place - 1], pools, {});
    return added;
}

void PrefixIndex::fill(std::uint32_t node, std::size_t index, BlockTables &tables, std::span<BlockPool> pools)
{
    for (std::size_t group = 0; group < m_groups; ++group) {
        BlockId &own = tables[group][index];
        BlockId &held = m_nodes[node].blocks[group];
        if (!own.isValid() || own == held)
            continue;
        if (held.isValid()) {
            pools[group].share(held);
            pools[group].release(own);
            own = held;
            continue;
        }
        pools[group].share(own);
        held = own;
        std::vector<std::uint32_t> &nodeOf = m_nodeOf[group];
        nodeOf.resize(pools[group].capacity());
        nodeOf[own.value()] = node;
    }
}

bool PrefixIndex::holds(std::size_t group, BlockId block) const
{
    return block.value() < m_nodeOf[group].size() && m_nodeOf[group][block.value()] != 0;
}

bool PrefixIndex::isIdle(const Node &node, std::size_t group, const BlockPool &pool) const
{
    return node.isInTree && node.blocks[group].isValid() && pool.references(node.blocks[group]) == 1;
}

std::uint32_t PrefixIndex::idleBlocks(std::size_t group, const BlockPool &pool) const
{
    return static_cast<std::uint32_t>(std::count_if(
        m_nodes.begin(), m_nodes.end(), [&](const Node &node) { return isIdle(node, group, pool); }));
}

/// Of the nodes that are wanted, the one that was used least recently; among those of one use the one nearest
/// to the root. 0: none.
template <class Wanted>
std::uint32_t PrefixIndex::leastRecent(const Wanted &wanted) const
{
    std::uint32_t found = 0;
    for (std::uint32_t node = 1; node < m_nodes.size(); ++node) {
        if (!m_nodes[node].isInTree || !wanted(m_nodes[node], node))
            continue;
        const auto age = [this](std::uint32_t of) {
            return std::pair(m_nodes[of].lastUse, m_nodes[of].depth);
        };
        if (found == 0 || age(node) < age(found))
            found = node;
    }
    return found;
}

bool PrefixIndex::isBelowIdle(std::uint32_t leaf, std::size_t group, const BlockPool &pool) const
{
    for (std::uint32_t node = leaf; node != 0; node = m_nodes[node].parent) {
        if (isIdle(m_nodes[node], group, pool))
            return true;
    }
    return false;
}

bool PrefixIndex::evict(std::size_t group, std::span<BlockPool> pools, const Evicted &evicted)
{
    const BlockPool &pool = pools[group];
    const bool hasWindow = pool.group().window > 0;
    for (;;) {
        const std::uint32_t idle = leastRecent([&](const Node &node, std::uint32_t) {
            return isIdle(node, group, pool) && (hasWindow || node.children.empty());
        });
        if (idle != 0) {
            if (m_nodes[idle].children.empty())
                removeLeaf(idle, pools, evicted);
            else
                dropBlock(idle, group, pools, evicted);
            return true;
        }
        // A sequence that dropped blocks from its middle may use a leaf without using what is above it.
        const std::uint32_t leaf = leastRecent([&](const Node &node, std::uint32_t index) {
            return node.children.empty() && isBelowIdle(index, group, pool);
        });
        if (leaf == 0)
            return false;
        removeLeaf(leaf, pools, evicted);
    }
}

void PrefixIndex::forget(std::size_t group, BlockId block, std::span<BlockPool> pools)
{
    if (!holds(group, block))
        return;
    const std::uint32_t top = m_nodeOf[group][block.value()];
    while (!m_nodes[top].children.empty()) {
        std::uint32_t leaf = m_nodes[top].children.back();
        while (!m_nodes[leaf].children.empty())
            leaf = m_nodes[leaf].children.back();
        removeLeaf(leaf, pools, {});
        if (!m_nodes[top].isInTree) // it held nothing else
            return;
    }
    removeLeaf(top, pools, {});
}

void PrefixIndex::forgetLeaf(std::size_t group, BlockId block, std::span<BlockPool> pools)
{
    if (holds(group, block) && m_nodes[m_nodeOf[group][block.value()]].children.empty())
        removeLeaf(m_nodeOf[group][block.value()], pools, {});
}

void PrefixIndex::dropBlock(std::uint32_t node, std::size_t group, std::span<BlockPool> pools,
                            const Evicted &evicted)
{
    BlockId &block = m_nodes[node].blocks[group];
    if (!block.isValid())
        return;
    if (evicted && pools[group].references(block) == 1)
        evicted(group, block);
    m_nodeOf[group][block.value()] = 0;
    pools[group].release(block);
    block = BlockId();
}

void PrefixIndex::removeLeaf(std::uint32_t node, std::span<BlockPool> pools, const Evicted &evicted)
{
    for (bool isBare = true; isBare;) {
        assert(node != 0 && m_nodes[node].children.empty());
        for (std::size_t group = 0; group < m_groups; ++group)
            dropBlock(node, group, pools, evicted);
        const std::uint32_t parent = m_nodes[node].parent;
        std::vector<std::uint32_t> &siblings = m_nodes[parent].children;
        siblings.erase(std::find(siblings.begin(), siblings.end(), node));
        m_nodes[node] = Node();
        m_unused.push_back(node);
        // A parent that windows emptied was only there for what was below it.
        isBare = parent != 0 && siblings.empty() &&
                 std::none_of(m_nodes[parent].blocks.begin(), m_nodes[parent].blocks.end(),
                              [](BlockId block) { return block.isValid(); });
        node = parent;
    }
}

} // namespace tokenloupe
