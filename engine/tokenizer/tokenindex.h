// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// Which token has a text. A hash table of ids alone, 8 bytes a slot: the texts stay in the list that they
/// are in (anything that gives a string_view for `texts[id]`), which every call is handed.
class TokenIndex
{
public:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    /// Room for `count` texts.
    explicit TokenIndex(std::size_t count = 0)
    {
        std::size_t places = 16;
        while (places < count + count / 2)
            places *= 2;
        m_slots.resize(places);
        m_mask = places - 1;
    }

    /// Adds texts[id], unless a token with that text is there already. At most as many as there was room for.
    template <class Texts>
    void insert(const Texts &texts, std::uint32_t id)
    {
        const std::string_view text = texts[id];
        const std::uint64_t hash = hashOf(text);
        Slot &slot = m_slots[place(texts, text, hash)];
        if (slot.id == none)
            slot = {tagOf(hash), id};
    }

    /// `none` where no token has it.
    template <class Texts>
    std::uint32_t find(const Texts &texts, std::string_view text) const
    {
        return m_slots[place(texts, text, hashOf(text))].id;
    }

    std::size_t memoryBytes() const { return m_slots.capacity() * sizeof(Slot); }

private:
    struct Slot
    {
        std::uint32_t tag = 0; // a part of the hash: tells nearly all other texts apart without reading them
        std::uint32_t id = none;
    };

    static std::uint32_t tagOf(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

    static std::uint64_t mixed(std::uint64_t value)
    {
        value *= 0x9E3779B97F4A7C15ULL;
        return value ^ (value >> 29);
    }

    static std::uint64_t hashOf(std::string_view text)
    {
        std::uint64_t hash = text.size();
        const char *p = text.data();
        std::size_t rest = text.size();
        std::uint64_t word = 0;
        for (; rest >= sizeof word; p += sizeof word, rest -= sizeof word) {
            std::memcpy(&word, p, sizeof word);
            hash = mixed(hash ^ word);
        }
        word = 0;
        for (std::size_t i = 0; i < rest; ++i)
            word = (word << 8) | static_cast<unsigned char>(p[i]);
        return mixed(mixed(hash ^ word));
    }

    /// The slot of the text, or the free one where it belongs.
    template <class Texts>
    std::size_t place(const Texts &texts, std::string_view text, std::uint64_t hash) const
    {
        for (std::size_t i = hash & m_mask;; i = (i + 1) & m_mask) {
            const Slot &slot = m_slots[i];
            if (slot.id == none || (slot.tag == tagOf(hash) && std::string_view(texts[slot.id]) == text))
                return i;
        }
    }

    std::vector<Slot> m_slots; // a power of two, never full
    std::size_t m_mask = 0;
};

} // namespace tokenloupe
