// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/sentencepiecemerges.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/piecetext.h"

#include <algorithm>
#include <queue>
#include <sentencepiece_processor.h>
#include <unordered_map>

namespace tokenloupe {

namespace {

class MergePlayer
{
public:
    MergePlayer(const sentencepiece::SentencePieceProcessor &processor, std::string_view text,
                std::uint32_t unknown)
        : m_processor(processor)
        , m_text(text)
        , m_unknown(static_cast<int>(unknown))
    {}

    void play();
    void append(std::uint32_t word, std::vector<MergeStep> &merges) const;

private:
    static constexpr std::uint32_t none = ~std::uint32_t(0);

    struct Node // one character, later the piece that begins with it
    {
        std::uint32_t begin = 0;
        std::uint32_t length = 0; // bytes; 0: swallowed
        std::uint32_t previous = none, next = none;
    };
    struct Candidate
    {
        float score = 0;
        std::uint32_t left = 0, right = 0; // nodes
        std::uint32_t length = 0;
        int id = 0;

        bool operator<(const Candidate &other) const
        {
            return score < other.score || (score == other.score && left > other.left);
        }
    };
    struct Step
    {
        std::uint32_t begin = 0, middle = 0, end = 0;
        int id = 0;
    };

    std::string_view textOf(std::uint32_t begin, std::uint32_t length) const
    {
        return m_text.substr(begin, length);
    }
    void offer(std::uint32_t left, std::uint32_t right);
    void takeBack(std::uint32_t begin, std::uint32_t length);

    const sentencepiece::SentencePieceProcessor &m_processor;
    std::string_view m_text;
    int m_unknown;
    std::vector<Node> m_nodes;
    std::priority_queue<Candidate> m_queue;
    std::unordered_map<std::string_view, std::uint32_t>
        m_unusedSplits; // unused piece -> bytes of its left part
    std::vector<Step> m_steps;
    std::vector<std::uint32_t> m_pieceEnds; // of the final pieces, rising
};

void MergePlayer::offer(std::uint32_t left, std::uint32_t right)
{
    if (left == none || right == none)
        return;
    const std::uint32_t length = m_nodes[left].length + m_nodes[right].length;
    const std::string_view piece = textOf(m_nodes[left].begin, length);
    const int id = m_processor.PieceToId(piece);
    if (id == m_unknown)
        return;
    m_queue.push({m_processor.GetScore(id), left, right, length, id});
    if (m_processor.IsUnused(id))
        m_unusedSplits[piece] = m_nodes[left].length;
}

void MergePlayer::play()
{
    for (std::size_t i = 0; i < m_text.size();) {
        const std::uint32_t length = decodeUtf8(m_text, i).length;
        const auto index = static_cast<std::uint32_t>(m_nodes.size());
        m_nodes.push_back({static_cast<std::uint32_t>(i), length, index == 0 ? none : index - 1, index + 1});
        i += length;
    }
    if (m_nodes.empty())
        return;
    m_nodes.back().next = none;
    for (std::uint32_t i = 0; i + 1 < m_nodes.size(); ++i)
        offer(i, i + 1);
    while (!m_queue.empty()) {
        const Candidate top = m_queue.top();
        m_queue.pop();
        Node &left = m_nodes[top.left];
        Node &right = m_nodes[top.right];
        if (left.length == 0 || right.length == 0 || left.length + right.length != top.length)
            continue; // one of the two has grown or gone since
        m_steps.push_back({left.begin, right.begin, right.begin + right.length, top.id});
        left.length = top.length;
        right.length = 0;
        left.next = right.next;
        if (left.next != none)
            m_nodes[left.next].previous = top.left;
        offer(left.previous, top.left);
        offer(top.left, left.next);
    }
    for (std::uint32_t i = 0; i != none; i = m_nodes[i].next)
        takeBack(m_nodes[i].begin, m_nodes[i].length);
}

void MergePlayer::takeBack(std::uint32_t begin, std::uint32_t length)
{
    std::vector<std::pair<std::uint32_t, std::uint32_t>> open{{begin, length}}; // a stack: pieces nest deeply
    while (!open.empty()) {
        const auto [from, count] = open.back();
        open.pop_back();
        const std::string_view piece = textOf(from, count);
        const int id = m_processor.PieceToId(piece);
        const auto split = m_unusedSplits.find(piece);
        if (id == m_unknown || !m_processor.IsUnused(id) || split == m_unusedSplits.end()) {
            m_pieceEnds.push_back(from + count);
            continue;
        }
        open.emplace_back(from + split->second, count - split->second);
        open.emplace_back(from, split->second);
    }
}

void MergePlayer::append(std::uint32_t word, std::vector<MergeStep> &merges) const
{
    for (const Step &step : m_steps) {
        const auto pieceEnd = std::upper_bound(m_pieceEnds.begin(), m_pieceEnds.end(), step.begin);
        if (step.end > *pieceEnd)
            continue; // taken back
        merges.push_back({spacesOf(textOf(step.begin, step.middle - step.begin)),
                          spacesOf(textOf(step.middle, step.end - step.middle)),
                          spacesOf(textOf(step.begin, step.end - step.begin)),
                          static_cast<std::uint32_t>(step.id), word});
    }
}

} // namespace

void appendSentencePieceMerges(const sentencepiece::SentencePieceProcessor &processor, std::string_view text,
                               std::uint32_t unknown, std::uint32_t word, std::vector<MergeStep> &merges)
{
    MergePlayer player(processor, text, unknown);
    player.play();
    player.append(word, merges);
}

} // namespace tokenloupe
