// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/literals.h"

#include "engine/base/utf8.h"
#include "engine/chat/jinja/lexer.h"
#include "engine/chat/jinja/unicode.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace tokenloupe::jinja {

namespace {

bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

/// 0…35, or 99 for what is no digit in any base.
int digitValue(char c)
{
    if (isDigit(c))
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + 10;
    return 99;
}

int baseOfPrefix(std::string_view digits)
{
    if (digits.size() < 2 || digits[0] != '0')
        return 10;
    switch (digits[1]) {
    case 'x':
    case 'X':
        return 16;
    case 'o':
    case 'O':
        return 8;
    case 'b':
    case 'B':
        return 2;
    default:
        return 10;
    }
}

/// Length of digits of that base with single underscores between them.
std::size_t digitsLength(std::string_view text, std::size_t from, int base)
{
    std::size_t at = from;
    while (at < text.size()) {
        if (digitValue(text[at]) < base)
            ++at;
        else if (text[at] == '_' && at > from && text[at - 1] != '_' && at + 1 < text.size() &&
                 digitValue(text[at + 1]) < base)
            ++at;
        else
            break;
    }
    return at - from;
}

std::string_view strippedSpace(std::string_view text)
{
    text.remove_prefix(leadingSpace(text));
    text.remove_suffix(trailingSpace(text));
    return text;
}

/// Reads up to `most` hexadecimal digits.
std::size_t readHex(std::string_view body, std::size_t at, std::size_t digits, std::uint32_t line,
                    char32_t &code)
{
    code = 0;
    for (std::size_t i = 0; i < digits; ++i) {
        const int value = at + i < body.size() ? digitValue(body[at + i]) : 99;
        if (value > 15)
            failAt(line, "the escape in a string is cut off, expected " + std::to_string(digits) +
                             " hexadecimal digits");
        code = code * 16 + static_cast<char32_t>(value);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        failAt(line, "the escape in a string is no character, expected a code point");
    return at + digits;
}

} // namespace

std::string unescapedString(std::string_view body, std::uint32_t line)
{
    std::string out;
    out.reserve(body.size());
    for (std::size_t i = 0; i < body.size();) {
        if (body[i] != '\\' || i + 1 >= body.size()) {
            out += body[i++];
            continue;
        }
        const char escape = body[i + 1];
        i += 2;
        static constexpr std::string_view letters = "ntr\\'\"abfv";
        static constexpr std::string_view meanings = "\n\t\r\\'\"\a\b\f\v";
        char32_t code = 0;
        if (const std::size_t known = letters.find(escape); known != std::string_view::npos) {
            out += meanings[known];
        } else if (escape == '\n') {
            continue; // a line end after a backslash is nothing
        } else if (escape == 'x' || escape == 'u' || escape == 'U') {
            i = readHex(body, i, escape == 'x' ? 2 : escape == 'u' ? 4 : 8, line, code);
            appendUtf8(out, code);
        } else if (escape >= '0' && escape <= '7') {
            --i;
            for (int digits = 0; digits < 3 && i < body.size() && body[i] >= '0' && body[i] <= '7';
                 ++digits, ++i)
                code = code * 8 + static_cast<char32_t>(body[i] - '0');
            appendUtf8(out, code);
        } else {
            out += '\\'; // as Python: an unknown escape stays as it is
            out += escape;
        }
    }
    return out;
}

NumberLength numberLength(std::string_view text, NumberPlace place)
{
    if (place == NumberPlace::Anywhere) {
        if (const int base = baseOfPrefix(text); base != 10) {
            const std::size_t from = text.size() > 2 && text[2] == '_' ? 3 : 2;
            if (const std::size_t digits = digitsLength(text, from, base); digits > 0)
                return {from + digits, false};
        }
    }
    std::size_t length = digitsLength(text, 0, 10);
    if (place == NumberPlace::AfterDot)
        return {length, false};
    bool isFloat = false;
    if (length + 1 < text.size() && text[length] == '.' && isDigit(text[length + 1])) {
        length += 1 + digitsLength(text, length + 1, 10);
        isFloat = true;
    }
    if (length + 1 < text.size() && (text[length] == 'e' || text[length] == 'E')) {
        const bool hasSign = text[length + 1] == '+' || text[length + 1] == '-';
        const std::size_t from = length + (hasSign ? 2 : 1);
        if (const std::size_t digits = digitsLength(text, from, 10); digits > 0) {
            length = from + digits;
            isFloat = true;
        }
    }
    return {length, isFloat};
}

std::optional<std::int64_t> integerOfLiteral(std::string_view digits)
{
    std::int64_t value = 0;
    if (integerOfText(digits, 0, value) != IntegerText::Good)
        return std::nullopt;
    return value;
}

IntegerText integerOfText(std::string_view text, int base, std::int64_t &value)
{
    text = strippedSpace(text);
    bool negative = false;
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
        negative = text[0] == '-';
        text.remove_prefix(1);
    }
    const int prefixBase = baseOfPrefix(text);
    if (prefixBase != 10 && (base == 0 || base == prefixBase)) {
        base = prefixBase;
        text.remove_prefix(text.size() > 2 && text[2] == '_' ? 3 : 2);
    } else if (base == 0) {
        base = 10;
        // "010" is no number in Python, "00" is.
        if (text.size() > 1 && text[0] == '0' && text.find_first_not_of("0_") != std::string_view::npos)
            return IntegerText::Malformed;
    }
    if (text.empty() || digitsLength(text, 0, base) != text.size())
        return IntegerText::Malformed;
    std::int64_t result = 0;
    for (const char c : text) {
        if (c == '_')
            continue;
        const std::int64_t digit = negative ? -digitValue(c) : digitValue(c);
        if (__builtin_mul_overflow(result, std::int64_t{base}, &result) ||
            __builtin_add_overflow(result, digit, &result))
            return IntegerText::TooLarge;
    }
    value = result;
    return IntegerText::Good;
}

std::optional<double> floatOfText(std::string_view text)
{
    text = strippedSpace(text);
    bool negative = false;
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
        negative = text[0] == '-';
        text.remove_prefix(1);
    }
    std::string lower;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '_') {
            if (i == 0 || i + 1 == text.size() || !isDigit(text[i - 1]) || !isDigit(text[i + 1]))
                return std::nullopt;
            continue;
        }
        lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    double value = 0;
    if (lower == "inf" || lower == "infinity") {
        value = std::numeric_limits<double>::infinity();
    } else if (lower == "nan") {
        value = std::numeric_limits<double>::quiet_NaN();
    } else {
        if (lower.empty() || !(isDigit(lower[0]) || lower[0] == '.'))
            return std::nullopt;
        const auto [end, error] = std::from_chars(lower.data(), lower.data() + lower.size(), value);
        if (end != lower.data() + lower.size())
            return std::nullopt;
        if (error == std::errc::result_out_of_range) // too large or too small: from_chars does not say which
            value = lower.find("e-") != std::string::npos ? 0.0 : std::numeric_limits<double>::infinity();
        else if (error != std::errc())
            return std::nullopt;
    }
    return negative ? -value : value;
}

std::string printedFloat(double value)
{
    if (std::isnan(value))
        return "nan";
    if (std::isinf(value))
        return value < 0 ? "-inf" : "inf";
    char buffer[40];
    const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
    const std::string_view scientific(buffer, static_cast<std::size_t>(result.ptr - buffer));
    const std::size_t mark = scientific.find('e');
    std::string digits;
    std::string out;
    for (const char c : scientific.substr(0, mark)) {
        if (c == '-')
            out = "-";
        else if (c != '.')
            digits += c;
    }
    int exponent = 0;
    const std::string_view exponentText = scientific.substr(mark + 2);
    std::from_chars(exponentText.data(), exponentText.data() + exponentText.size(), exponent);
    if (scientific[mark + 1] == '-')
        exponent = -exponent;
    if (exponent < -4 || exponent >= 16) {
        out += digits[0];
        if (digits.size() > 1)
            out += "." + digits.substr(1);
        const std::string power = std::to_string(std::abs(exponent));
        return out + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
    }
    if (exponent < 0)
        return out + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() <= whole)
        return out + digits + std::string(whole - digits.size(), '0') + ".0";
    return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

} // namespace tokenloupe::jinja
