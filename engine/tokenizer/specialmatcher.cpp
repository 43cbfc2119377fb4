// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/specialmatcher.h"

#include <algorithm>
#include <map>
#include <queue>

namespace tokenloupe {

namespace {

std::uint64_t edgeKey(std::uint32_t node, unsigned char byte)
{
    return (static_cast<std::uint64_t>(node) << 8) | byte;
}

bool touchesLiteral(std::span<const ByteRange> literal, ByteRange range)
{
    auto it = std::partition_point(literal.begin(), literal.end(),
                                   [range](const ByteRange &r) { return r.end <= range.begin; });
    for (; it != literal.end() && it->begin < range.end; ++it) {
        if (it->begin < it->end)
            return true;
    }
    return false;
}

} // namespace

SpecialMatcher::SpecialMatcher()
    : m_nodes(1)
{
    m_fromRoot.fill(none);
}

SpecialMatcher::NodeIndex SpecialMatcher::child(NodeIndex node, unsigned char byte) const
{
    if (node == root)
        return m_fromRoot[byte];
    const auto it = m_edges.find(edgeKey(node, byte));
    return it == m_edges.end() ? none : it->second;
}

void SpecialMatcher::add(std::string_view text, TokenId id, When when)
{
    if (text.empty())
        return;
    NodeIndex node = root;
    for (auto it = text.rbegin(); it != text.rend(); ++it) {
        const auto byte = static_cast<unsigned char>(*it);
        NodeIndex next = child(node, byte);
        if (next == none) {
            next = static_cast<NodeIndex>(m_nodes.size());
            Node added;
            added.parent = node;
            added.depth = m_nodes[node].depth + 1;
            added.byte = byte;
            m_nodes.push_back(added);
            if (node == root)
                m_fromRoot[byte] = next;
            else
                m_edges.emplace(edgeKey(node, byte), next);
        }
        node = next;
    }
    TokenId &slot = when == When::Always ? m_nodes[node].always : m_nodes[node].whenParsed;
    if (!slot.isValid())
        slot = id;
}

SpecialMatcher::NodeIndex SpecialMatcher::step(NodeIndex node, unsigned char byte) const
{
    for (;;) {
        const NodeIndex next = child(node, byte);
        if (next != none)
            return next;
        if (node == root)
            return root;
        node = m_nodes[node].fallback;
    }
}

void SpecialMatcher::build()
{
    std::vector<NodeIndex> byDepth(m_nodes.size() - 1);
    for (NodeIndex i = 1; i < m_nodes.size(); ++i)
        byDepth[i - 1] = i;
    std::stable_sort(byDepth.begin(), byDepth.end(),
                     [this](NodeIndex a, NodeIndex b) { return m_nodes[a].depth < m_nodes[b].depth; });
    for (const NodeIndex index : byDepth) {
        Node &node = m_nodes[index];
        node.fallback = node.parent == root ? root : step(m_nodes[node.parent].fallback, node.byte);
        const Node &fallback = m_nodes[node.fallback];
        node.shorter =
            fallback.always.isValid() || fallback.whenParsed.isValid() ? node.fallback : fallback.shorter;
    }
}

/// One call of find(): which of the texts that begin at a place may be taken there.
class SpecialMatcher::Search
{
public:
    struct Candidate
    {
        std::uint32_t begin = 0;
        NodeIndex node = root; ///< root: nothing fits
        TokenId id;
    };

    Search(const SpecialMatcher &matcher, SpecialTokens special, std::span<const ByteRange> literal)
        : m_matcher(matcher)
        , m_literal(literal)
        , m_parse(special == SpecialTokens::Parse)
    {}

    /// The longest text at `begin` from `node` along the shorter ones that is at most `limit` bytes long.
    Candidate longest(std::uint32_t begin, NodeIndex node, std::uint32_t limit) const
    {
        for (; node != root; node = m_matcher.m_nodes[node].shorter) {
            const Node &n = m_matcher.m_nodes[node];
            if (n.depth > limit)
                continue;
            if (m_parse && n.whenParsed.isValid() && !touchesLiteral(m_literal, {begin, begin + n.depth}))
                return {begin, node, n.whenParsed};
            if (n.always.isValid())
                return {begin, node, n.always};
        }
        return {begin, root, {}};
    }

private:
    const SpecialMatcher &m_matcher;
    std::span<const ByteRange> m_literal;
    bool m_parse;
};

std::vector<SpecialMatch> SpecialMatcher::find(std::string_view text, SpecialTokens special,
                                               std::span<const ByteRange> literal) const
{
    if (m_nodes.size() == 1)
        return {};
    const Search search(*this, special, literal);
    const auto size = static_cast<std::uint32_t>(text.size());
    std::vector<Search::Candidate> found;
    NodeIndex node = root;
    for (std::uint32_t i = size; i-- > 0;) {
        node = step(node, static_cast<unsigned char>(text[i]));
        if (node == root)
            continue;
        const Search::Candidate candidate = search.longest(i, node, size - i);
        if (candidate.node != root)
            found.push_back(candidate);
    }
    if (found.empty())
        return {};

    const auto later = [this](const Search::Candidate &a, const Search::Candidate &b) {
        const std::uint32_t lengthA = m_nodes[a.node].depth;
        const std::uint32_t lengthB = m_nodes[b.node].depth;
        return lengthA != lengthB ? lengthA < lengthB : a.begin > b.begin;
    };
    std::priority_queue<Search::Candidate, std::vector<Search::Candidate>, decltype(later)> queue(
        later, std::move(found));
    std::map<std::uint32_t, SpecialMatch> taken; // by begin
    while (!queue.empty()) {
        const Search::Candidate top = queue.top();
        queue.pop();
        const auto next = taken.lower_bound(top.begin);
        if (next != taken.begin() && std::prev(next)->second.range.end > top.begin)
            continue;
        const std::uint32_t limit = (next == taken.end() ? size : next->first) - top.begin;
        const std::uint32_t length = m_nodes[top.node].depth;
        if (length <= limit) {
            taken.emplace_hint(next, top.begin, SpecialMatch{{top.begin, top.begin + length}, top.id});
            continue;
        }
        const Search::Candidate shorter = search.longest(top.begin, m_nodes[top.node].shorter, limit);
        if (shorter.node != root)
            queue.push(shorter);
    }
    std::vector<SpecialMatch> matches;
    matches.reserve(taken.size());
    for (const auto &[begin, match] : taken)
        matches.push_back(match);
    return matches;
}

std::vector<SpecialMatch> SpecialMatcher::findLeftmost(std::string_view text) const
{
    std::vector<SpecialMatch> matches;
    if (m_nodes.size() == 1)
        return matches;
    const Search search(*this, SpecialTokens::Parse, {});
    const auto size = static_cast<std::uint32_t>(text.size());
    NodeIndex node = root;
    for (std::uint32_t i = size; i-- > 0;) {
        node = step(node, static_cast<unsigned char>(text[i]));
        if (node == root)
            continue;
        const Search::Candidate found = search.longest(i, node, size - i);
        if (found.node != root)
            matches.push_back({{i, i + m_nodes[found.node].depth}, found.id});
    }
    std::reverse(matches.begin(), matches.end());
    std::uint32_t done = 0;
    const auto overlaps = [&done](const SpecialMatch &match) {
        if (match.range.begin < done)
            return true;
        done = match.range.end;
        return false;
    };
    matches.erase(std::remove_if(matches.begin(), matches.end(), overlaps), matches.end());
    return matches;
}

} // namespace tokenloupe
