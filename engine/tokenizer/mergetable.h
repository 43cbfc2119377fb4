// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace tokenloupe {

/// Hash table from a pair of symbols to the merge that joins them. Open addressing, because it is asked for
/// every pair of neighbours of every word.
class MergeTable
{
public:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    struct Merge
    {
        std::uint32_t rank = none; ///< none: the pair is not joined
        std::uint32_t result = 0;
    };

    /// Room for `count` merges.
    explicit MergeTable(std::size_t count = 0)
    {
        std::size_t places = 16;
        while (places < count * 2)
            places *= 2;
        m_slots.resize(places);
        m_mask = places - 1;
    }

    /// Keeps the merge that is there already, if any. At most as many as there was room for.
    void insert(std::uint32_t left, std::uint32_t right, Merge merge)
    {
        Slot &slot = m_slots[indexOf(left, right)];
        if (slot.merge.rank == none)
            slot = {left, right, merge};
    }

    Merge find(std::uint32_t left, std::uint32_t right) const { return m_slots[indexOf(left, right)].merge; }

private:
    struct Slot
    {
        std::uint32_t left = 0;
        std::uint32_t right = 0;
        Merge merge;
    };

    /// The slot of the pair, or the free one where it belongs.
    std::size_t indexOf(std::uint32_t left, std::uint32_t right) const
    {
        std::uint64_t hash = ((static_cast<std::uint64_t>(left) << 32) | right) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 32;
        for (std::size_t i = hash & m_mask;; i = (i + 1) & m_mask) {
            const Slot &slot = m_slots[i];
            if (slot.merge.rank == none || (slot.left == left && slot.right == right))
                return i;
        }
    }

    std::vector<Slot> m_slots;
    std::size_t m_mask = 0;
};

} // namespace tokenloupe
