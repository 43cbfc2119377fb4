// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// Many short texts in one stretch of memory: each costs its bytes and 8 more, and all of them are freed at
/// once. Views of them stay valid until the next push_back().
class TextList
{
public:
    std::size_t size() const { return m_ends.size(); }
    bool empty() const { return m_ends.empty(); }
    std::size_t textBytes() const { return m_characters.size(); } ///< of all texts
    std::size_t memoryBytes() const
    {
        return m_characters.capacity() + m_ends.capacity() * sizeof(std::size_t);
    }

    std::string_view operator[](std::size_t index) const
    {
        const std::size_t begin = index == 0 ? 0 : m_ends[index - 1];
        return std::string_view(m_characters).substr(begin, m_ends[index] - begin);
    }

    void reserve(std::size_t texts, std::size_t bytes)
    {
        m_ends.reserve(texts);
        m_characters.reserve(bytes);
    }
    void clear()
    {
        m_characters.clear();
        m_ends.clear();
    }
    void push_back(std::string_view text)
    {
        m_characters += text;
        m_ends.push_back(m_characters.size());
    }

    bool operator==(const TextList &) const = default;

private:
    std::string m_characters;
    std::vector<std::size_t> m_ends; // in m_characters, rising
};

} // namespace tokenloupe
