// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// Bytes that may be cut in the middle of a character -> text of whole characters.
/// push() returns what became complete; bytes that can never become a character turn into U+FFFD as soon as
/// that is certain. Nothing is ever returned twice.
class Utf8Stream
{
public:
    std::string push(std::string_view bytes);
    /// What is still held back, as U+FFFD where incomplete; empties the stream.
    std::string finish();
    std::string_view pending() const { return m_pending; }

private:
    std::string m_pending; // at most 3 bytes: a valid prefix of one character
};

/// One character of a text, or one piece that is none: the longest start of a character that the next byte
/// breaks off ("maximal subpart", 1 to 3 bytes), else a single byte.
struct Utf8Unit
{
    char32_t codePoint = 0;  ///< meaningless when !valid
    std::uint32_t begin = 0; ///< byte offset
    std::uint32_t length = 0;
    bool valid = false;
};

/// Decodes the unit at `offset`; `text` must be longer than `offset`.
Utf8Unit decodeUtf8(std::string_view text, std::size_t offset);
bool isValidUtf8(std::string_view text);
/// The text with one U+FFFD for each piece that is not UTF-8, as Unicode recommends and browsers do.
std::string sanitizedUtf8(std::string_view text);
void appendUtf8(std::string &out, char32_t codePoint);
std::string hexOf(std::string_view bytes);            ///< "e4b8", lower case
Result<std::string> bytesOfHex(std::string_view hex); ///< inverse of hexOf, also of upper case

/// Text from a file for use inside a message: in quotes, one line, control and layout characters and bad
/// bytes escaped, cut after about `maxBytes` (the full length is then named).
std::string quotedForMessage(std::string_view text, std::size_t maxBytes = 64);

} // namespace tokenloupe
