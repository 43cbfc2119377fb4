// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tokenloupe::jinja {

/// Properties of characters as Python's str methods use them (Unicode 14).
bool isSpace(char32_t code);
bool isAlphabetic(char32_t code); ///< letters
bool isDecimal(char32_t code);    ///< digits of a decimal system
bool isDigit(char32_t code);      ///< decimals, superscripts, circled digits, …
bool isNumeric(char32_t code);    ///< decimals, fractions, superscripts, …
bool isPrintable(char32_t code);
bool isUpper(char32_t code);
bool isLower(char32_t code);
bool isTitle(char32_t code); ///< letters such as U+01C5
inline bool isCased(char32_t code)
{
    return isUpper(code) || isLower(code) || isTitle(code);
}

enum class Case { Upper, Lower, Title };
/// The full mapping, up to three characters.
void appendCased(std::string &out, char32_t code, Case target);

/// Bytes of white space at the beginning and at the end.
std::size_t leadingSpace(std::string_view text);
std::size_t trailingSpace(std::string_view text);
/// Length of the identifier that the text begins with, 0 if none.
std::size_t identifierLength(std::string_view text);
std::string firstCharacter(std::string_view text);

} // namespace tokenloupe::jinja
