// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/mergetable.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tokenloupe {

/// Applies merges to one word after another: always the one of the lowest rank, of several the leftmost. Time
/// is n log n in the word's length. Holds working memory, so one object serves one thread.
class WordMerger
{
public:
    struct Symbol
    {
        std::uint32_t symbol = 0;
        std::uint32_t length = 0; ///< bytes
    };
    struct Applied
    {
        std::uint32_t left = 0, right = 0; ///< symbols
        MergeTable::Merge merge;
    };

    explicit WordMerger(const MergeTable &table)
        : m_table(table)
    {}

    void begin() { m_nodes.clear(); }
    /// One more symbol of so many bytes.
    void append(std::uint32_t symbol, std::uint32_t length = 1) { m_nodes.push_back({{symbol, length}}); }
    /// Merges what was appended; `applied` gets the merges in order when given. The result lives until
    /// begin().
    std::span<const Symbol> merge(std::vector<Applied> *applied);

private:
    static constexpr std::uint32_t end = MergeTable::none;

    struct Node
    {
        Symbol symbol; // length 0: swallowed by its left neighbour
        std::uint32_t previous = end;
        std::uint32_t next = end;
    };
    struct Candidate
    {
        MergeTable::Merge merge;
        std::uint32_t node = 0; // the left one
        std::uint32_t left = 0, right = 0;
    };
    static bool isLater(const Candidate &a, const Candidate &b)
    {
        return a.merge.rank != b.merge.rank ? a.merge.rank > b.merge.rank : a.node > b.node;
    }

    bool candidateAt(std::uint32_t node, Candidate &candidate) const;

    const MergeTable &m_table;
    std::vector<Node> m_nodes;
    std::vector<Candidate> m_queue; // heap by isLater()
    std::vector<Symbol> m_result;
};

} // namespace tokenloupe
