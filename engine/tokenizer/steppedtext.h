// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// A text on its way through the steps of a vocabulary: what it has become, in parts, and for each byte the
/// place in the whole input that it comes from.
class SteppedText
{
public:
    enum class State : std::uint8_t {
        Open,    ///< text that steps may change and cut
        Broken,  ///< bytes that are not UTF-8, which no step sees
        Removed, ///< text between words that becomes no token
        Token,   ///< is a token as it stands
    };
    struct Part
    {
        std::uint32_t end = 0; ///< in text(); where the next part begins
        State state = State::Open;
        TokenId token; ///< of State::Token
    };

    /// `text` begins at `begin` of the whole input and must outlive this.
    SteppedText(std::string_view text, std::uint32_t begin);

    std::string_view text() const { return m_origins.empty() ? m_input : std::string_view(m_text); }
    /// Offset in the whole input of a byte of text(), or of its end. Rises.
    std::uint32_t originOf(std::size_t index) const
    {
        return m_origins.empty() ? m_begin + static_cast<std::uint32_t>(index) : m_origins[index];
    }
    const std::vector<Part> &parts() const { return m_parts; }
    void setParts(std::vector<Part> parts) { m_parts = std::move(parts); }

    /// Collects a new text from pieces of an old one, in order.
    class Rewrite
    {
    public:
        explicit Rewrite(const SteppedText &old);
        /// Bytes [begin, end) of the old text.
        void keep(std::size_t begin, std::size_t end);
        /// New bytes, which stand where the old text has `at`.
        void put(std::string_view bytes, std::size_t at);
        /// Ends the part that the bytes since the last call are; none if there are none.
        void endPart(const Part &like);

    private:
        friend class SteppedText;
        const SteppedText &m_old;
        std::string m_text;
        std::vector<std::uint32_t> m_origins;
        std::vector<Part> m_parts;
    };
    void take(Rewrite &&rewrite);

private:
    std::string_view m_input;
    std::uint32_t m_begin;
    std::string m_text;
    std::vector<std::uint32_t> m_origins; // of m_text and its end; empty: nothing has changed
    std::vector<Part> m_parts;
};

} // namespace tokenloupe
