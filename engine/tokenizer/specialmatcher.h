// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/tokenizer.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tokenloupe {

struct SpecialMatch
{
    ByteRange range;
    TokenId id;
};

/// Finds tokens that are matched as whole texts before anything is tokenised: user-defined ones always,
/// control ones only where they are asked for. The longest match wins wherever two overlap; of equally long
/// ones the left. An automaton over the reversed texts, so that neither many nor very long tokens make it
/// slow.
class SpecialMatcher
{
public:
    enum class When {
        Always,     ///< in plain text too
        WhenParsed, ///< only with SpecialTokens::Parse and outside of literal ranges
    };

    SpecialMatcher();
    /// The first token of a text wins; empty texts are left out.
    void add(std::string_view text, TokenId id, When when);
    /// To be called once, after the last add().
    void build();

    /// Matches in rising order, not overlapping.
    std::vector<SpecialMatch> find(std::string_view text, SpecialTokens special,
                                   std::span<const ByteRange> literal) const;

    /// All texts, parsed or not, as a search from left to right finds them: at each place the longest one,
    /// then on behind it.
    std::vector<SpecialMatch> findLeftmost(std::string_view text) const;

private:
    using NodeIndex = std::uint32_t;
    static constexpr NodeIndex root = 0;
    static constexpr NodeIndex none = ~NodeIndex(0);

    struct Node
    {
        NodeIndex parent = root;
        NodeIndex fallback = root; ///< node of the longest proper suffix of this node's string
        NodeIndex shorter = root;  ///< nearest node along the fallbacks that ends a text; root: none
        std::uint32_t depth = 0;   ///< length of the string
        unsigned char byte = 0;    ///< edge from the parent
        TokenId always, whenParsed;
    };
    class Search;

    NodeIndex child(NodeIndex node, unsigned char byte) const;
    NodeIndex step(NodeIndex node, unsigned char byte) const;

    std::vector<Node> m_nodes;
    std::array<NodeIndex, 256> m_fromRoot;                // none: no edge
    std::unordered_map<std::uint64_t, NodeIndex> m_edges; // node << 8 | byte, for nodes other than the root
};

} // namespace tokenloupe
