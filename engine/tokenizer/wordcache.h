// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// A token of a word and how many of its bytes it stands for.
struct WordToken
{
    TokenId id;
    std::uint32_t length = 0;
};

/// Remembers what the words of one text became while it is tokenised: running text repeats itself. Words are
/// views into the text, which must outlive the cache. Grows with the number of different words.
class WordCache
{
public:
    static constexpr std::size_t longestWord = 64; ///< bytes; longer ones seldom come twice

    WordCache() { m_slots.resize(1024); }

    struct Place
    {
        std::uint64_t hash = 0;
        std::size_t slot = 0;
        bool found = false;
    };

    Place find(std::string_view word) const
    {
        const std::uint64_t hash = std::hash<std::string_view>()(word);
        const std::size_t mask = m_slots.size() - 1;
        for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
            const Slot &slot = m_slots[i];
            if (slot.word.empty())
                return {hash, i, false};
            if (slot.hash == hash && slot.word == word)
                return {hash, i, true};
        }
    }

    std::span<const WordToken> tokens(const Place &place) const
    {
        const Slot &slot = m_slots[place.slot];
        return std::span(m_tokens).subspan(slot.first, slot.count);
    }

    /// `place`: what find() said about the word (which is not empty), with no insertion in between.
    void insert(const Place &place, std::string_view word, std::span<const WordToken> tokens)
    {
        m_slots[place.slot] = {word, place.hash, m_tokens.size(), tokens.size()};
        m_tokens.insert(m_tokens.end(), tokens.begin(), tokens.end());
        if (++m_used * 2 > m_slots.size())
            grow();
    }

private:
    struct Slot
    {
        std::string_view word; // empty: free
        std::uint64_t hash = 0;
        std::size_t first = 0, count = 0;
    };

    void grow()
    {
        std::vector<Slot> old(m_slots.size() * 2);
        old.swap(m_slots);
        const std::size_t mask = m_slots.size() - 1;
        for (const Slot &slot : old) {
            if (slot.word.empty())
                continue;
            std::size_t i = slot.hash & mask;
            while (!m_slots[i].word.empty())
                i = (i + 1) & mask;
            m_slots[i] = slot;
        }
    }

    std::vector<Slot> m_slots; // a power of two
    std::size_t m_used = 0;
    std::vector<WordToken> m_tokens;
};

} // namespace tokenloupe
