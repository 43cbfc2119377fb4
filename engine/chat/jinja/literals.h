// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tokenloupe::jinja {

/// What stands between the quotes of a string literal, with Python's escapes resolved. Throws a Failure.
std::string unescapedString(std::string_view body, std::uint32_t line);

struct NumberLength
{
    std::size_t length = 0;
    bool isFloat = false;
};
/// Of the number literal that `text` begins with (a digit). After a dot ("a.0.1") only whole numbers.
enum class NumberPlace { Anywhere, AfterDot };
NumberLength numberLength(std::string_view text, NumberPlace place);

/// Digits with an optional "0x", "0o" or "0b"; nothing when it does not fit into 64 bits.
std::optional<std::int64_t> integerOfLiteral(std::string_view digits);

/// As Python's int(text, base): spaces around, sign, underscores, prefix; base 0 or 2…36.
enum class IntegerText { Good, Malformed, TooLarge };
IntegerText integerOfText(std::string_view text, int base, std::int64_t &value);
/// As Python's float(text).
std::optional<double> floatOfText(std::string_view text);

/// As Python prints a float: the shortest digits that read back the same.
std::string printedFloat(double value);

} // namespace tokenloupe::jinja
