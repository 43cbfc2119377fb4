// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace tokenloupe {

/// The printable alphabet in which byte-level BPE vocabularies are written: one character for each byte, so
/// that a token file never holds a space, a control character or half a character. Printable Latin-1 bytes
/// stand for themselves; the 68 others get U+0100 and up, in order.
class ByteAlphabet
{
public:
    ByteAlphabet();

    /// UTF-8 of the character for a byte (1 or 2 bytes).
    const std::string &letter(unsigned char byte) const { return m_letters[byte]; }
    std::string encode(std::string_view bytes) const;
    /// Inverse of encode(). Characters outside of the alphabet are kept as they are.
    std::string decode(std::string_view text) const;
    /// The same, appended.
    void decode(std::string_view text, std::string &bytes) const;

private:
    static constexpr unsigned lastLetter = 0x143; // U+0100 + 67
    std::array<std::string, 256> m_letters;
    std::array<short, lastLetter + 1> m_bytes; // by code point; -1: no letter of the alphabet
};

} // namespace tokenloupe
