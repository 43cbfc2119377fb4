// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/piecevocabulary.h"
#include "engine/tokenizer/wordcache.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tokenloupe {

/// Splits text into pieces as SentencePiece's BPE does: neighbours that make a piece are joined, the piece
/// with the highest score first, of equal ones the leftmost; pieces that are unused are taken apart again in
/// the end. Time is n log n in the text's length. Holds working memory, so one object serves one thread.
class PieceMerger
{
public:
    /// A merge as a part of the text: [begin, middle) and [middle, end) became `piece`.
    struct Step
    {
        std::uint32_t begin = 0, middle = 0, end = 0;
        std::uint32_t piece = 0;
    };

    explicit PieceMerger(const PieceVocabulary &pieces)
        : m_pieces(pieces)
    {}

    /// `text`: UTF-8. Characters that are no piece come with an invalid id. `steps` gets the merges in order
    /// when given, without those that were taken back. The result lives until the next call.
    std::span<const WordToken> split(std::string_view text, std::vector<Step> *steps = nullptr);

private:
    static constexpr std::uint32_t none = PieceVocabulary::none;

    struct Node // one character, later the piece that begins with it
    {
        std::uint32_t begin = 0;
        std::uint32_t length = 0; // bytes; 0: swallowed
        std::uint32_t previous = none, next = none;
        std::uint32_t piece = none; // what it was merged into
    };
    struct Candidate
    {
        float score = 0;
        std::uint32_t left = 0, right = 0; // nodes
        std::uint32_t length = 0;
        std::uint32_t piece = 0;

        bool operator<(const Candidate &other) const
        {
            return score < other.score || (score == other.score && left > other.left);
        }
    };

    void readCharacters();
    void offer(std::uint32_t left, std::uint32_t right);
    void merge(std::vector<Step> *steps);
    void append(const Node &node);
    void dropTakenBack(std::vector<Step> &steps) const;

    const PieceVocabulary &m_pieces;
    std::string_view m_text;
    std::vector<Node> m_nodes;
    std::vector<Candidate> m_queue; // a heap
    /// Unused piece -> bytes of its left part, where it was last made.
    std::unordered_map<std::string_view, std::uint32_t> m_unusedSplits;
    std::vector<WordToken> m_result;
};

} // namespace tokenloupe
