// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <string_view>

namespace tokenloupe {

/// Unicode's White_Space.
bool isWhiteSpace(char32_t codePoint);
/// Bytes of white space at the ends of a text (any bytes; broken ones are none).
std::size_t whiteSpaceAtStart(std::string_view text);
std::size_t whiteSpaceAtEnd(std::string_view text);
/// Where the last character of a text that is not empty begins.
std::size_t lastCharacter(std::string_view text);

} // namespace tokenloupe
