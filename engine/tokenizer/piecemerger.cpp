// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/piecemerger.h"

#include "engine/base/utf8.h"

#include <algorithm>

namespace tokenloupe {

std::span<const WordToken> PieceMerger::split(std::string_view text, std::vector<Step> *steps)
{
    m_text = text;
    m_result.clear();
    if (text.empty())
        return m_result;
    readCharacters();
    merge(steps);
    for (std::uint32_t i = 0; i != none; i = m_nodes[i].next)
        append(m_nodes[i]);
    if (steps)
        dropTakenBack(*steps);
    return m_result;
}

void PieceMerger::readCharacters()
{
    m_nodes.clear();
    for (std::size_t i = 0; i < m_text.size();) {
        const std::uint32_t length =
            static_cast<unsigned char>(m_text[i]) < 0x80 ? 1 : decodeUtf8(m_text, i).length;
        const auto index = static_cast<std::uint32_t>(m_nodes.size());
        m_nodes.push_back(
            {static_cast<std::uint32_t>(i), length, index == 0 ? none : index - 1, index + 1, none});
        i += length;
    }
    m_nodes.back().next = none;
}

void PieceMerger::offer(std::uint32_t left, std::uint32_t right)
{
    if (left == none || right == none)
        return;
    const std::uint32_t length = m_nodes[left].length + m_nodes[right].length;
    const std::string_view text = m_text.substr(m_nodes[left].begin, length);
    const std::uint32_t piece = m_pieces.find(text);
    if (piece == none)
        return;
    m_queue.push_back({m_pieces.score(piece), left, right, length, piece});
    std::push_heap(m_queue.begin(), m_queue.end());
    if (m_pieces.hasUnused() && m_pieces.isUnused(piece))
        m_unusedSplits[text] = m_nodes[left].length;
}

void PieceMerger::merge(std::vector<Step> *steps)
{
    m_queue.clear();
    m_unusedSplits.clear();
    for (std::uint32_t i = 0; i + 1 < m_nodes.size(); ++i)
        offer(i, i + 1);
    while (!m_queue.empty()) {
        std::pop_heap(m_queue.begin(), m_queue.end());
        const Candidate top = m_queue.back();
        m_queue.pop_back();
        Node &left = m_nodes[top.left];
        Node &right = m_nodes[top.right];
        if (left.length == 0 || right.length == 0 || left.length + right.length != top.length)
            continue; // one of the two has grown or gone since
        if (steps)
            steps->push_back({left.begin, right.begin, right.begin + right.length, top.piece});
        left.length = top.length;
        left.piece = top.piece;
        right.length = 0;
        left.next = right.next;
        if (left.next != none)
            m_nodes[left.next].previous = top.left;
        offer(left.previous, top.left);
        offer(top.left, left.next);
    }
}

void PieceMerger::append(const Node &node)
{
    const auto idOf = [this](std::uint32_t begin, std::uint32_t length, std::uint32_t known) {
        return known == none ? m_pieces.find(m_text.substr(begin, length)) : known;
    };
    const auto push = [this](std::uint32_t piece, std::uint32_t length) {
        m_result.push_back({piece == none ? TokenId() : TokenId(piece), length});
    };
    if (!m_pieces.hasUnused()) {
        push(idOf(node.begin, node.length, node.piece), node.length);
        return;
    }
    struct Part
    {
        std::uint32_t begin = 0, length = 0;
        std::uint32_t piece = none;
    };
    std::vector<Part> open{{node.begin, node.length, node.piece}}; // a stack: pieces nest deeply
    while (!open.empty()) {
        const Part part = open.back();
        open.pop_back();
        const std::uint32_t piece = idOf(part.begin, part.length, part.piece);
        const auto split = piece != none && m_pieces.isUnused(piece)
                               ? m_unusedSplits.find(m_text.substr(part.begin, part.length))
                               : m_unusedSplits.end();
        if (split == m_unusedSplits.end()) {
            push(piece, part.length);
            continue;
        }
        const std::uint32_t left = split->second;
        open.push_back({part.begin + left, part.length - left, none});
        open.push_back({part.begin, left, none});
    }
}

void PieceMerger::dropTakenBack(std::vector<Step> &steps) const
{
    if (!m_pieces.hasUnused())
        return;
    std::vector<std::uint32_t> ends; // of the final pieces
    std::uint32_t end = 0;
    for (const WordToken &token : m_result)
        ends.push_back(end += token.length);
    std::erase_if(steps, [&](const Step &step) {
        return step.end > *std::upper_bound(ends.begin(), ends.end(), step.begin);
    });
}

} // namespace tokenloupe
