// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/wordmerger.h"

#include <algorithm>

namespace tokenloupe {

bool WordMerger::candidateAt(std::uint32_t node, Candidate &candidate) const
{
    const Node &left = m_nodes[node];
    if (left.next == end)
        return false;
    const std::uint32_t right = m_nodes[left.next].symbol.symbol;
    const MergeTable::Merge merge = m_table.find(left.symbol.symbol, right);
    if (merge.rank == MergeTable::none)
        return false;
    candidate = {merge, node, left.symbol.symbol, right};
    return true;
}

std::span<const WordMerger::Symbol> WordMerger::merge(std::vector<Applied> *applied)
{
    const auto count = static_cast<std::uint32_t>(m_nodes.size());
    m_queue.clear();
    Candidate candidate;
    for (std::uint32_t i = 0; i < count; ++i) {
        m_nodes[i].previous = i == 0 ? end : i - 1;
        m_nodes[i].next = i + 1 == count ? end : i + 1;
    }
    for (std::uint32_t i = 0; i + 1 < count; ++i) {
        if (candidateAt(i, candidate))
            m_queue.push_back(candidate);
    }
    std::make_heap(m_queue.begin(), m_queue.end(), isLater);

    const auto offer = [&](std::uint32_t node) {
        if (node == end || !candidateAt(node, candidate))
            return;
        m_queue.push_back(candidate);
        std::push_heap(m_queue.begin(), m_queue.end(), isLater);
    };
    while (!m_queue.empty()) {
        std::pop_heap(m_queue.begin(), m_queue.end(), isLater);
        const Candidate top = m_queue.back();
        m_queue.pop_back();
        Node &left = m_nodes[top.node];
        // Earlier merges may have taken one of the two away or made it grow.
        if (left.symbol.length == 0 || left.symbol.symbol != top.left || left.next == end)
            continue;
        Node &right = m_nodes[left.next];
        if (right.symbol.symbol != top.right)
            continue;
        left.symbol.symbol = top.merge.result;
        left.symbol.length += right.symbol.length;
        right.symbol.length = 0;
        left.next = right.next;
        if (left.next != end)
            m_nodes[left.next].previous = top.node;
        if (applied)
            applied->push_back({top.left, top.right, top.merge});
        offer(left.previous);
        offer(top.node);
    }

    m_result.clear();
    for (std::uint32_t i = count == 0 ? end : 0; i != end; i = m_nodes[i].next)
        m_result.push_back(m_nodes[i].symbol);
    return m_result;
}

} // namespace tokenloupe
