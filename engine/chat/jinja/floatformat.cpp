// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/literals.h"
#include "engine/chat/jinja/stringformat.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tokenloupe::jinja {

namespace {

constexpr std::int64_t mostPrecision = 1000;
/// Digits of the largest double before its point, and some more.
constexpr std::size_t mostWholeDigits = 330;

/// note: printf would take the decimal point of the user's locale.
std::string converted(double value, std::chars_format format, std::int64_t precision)
{
    std::string buffer(static_cast<std::size_t>(precision) + mostWholeDigits, '\0');
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format,
                                      static_cast<int>(precision));
    buffer.resize(static_cast<std::size_t>(result.ptr - buffer.data()));
    return buffer;
}

std::string withoutZeros(std::string digits)
{
    if (digits.find('.') != std::string::npos)
        digits.erase(digits.find_last_not_of('0') + 1);
    if (!digits.empty() && digits.back() == '.')
        digits.pop_back();
    return digits;
}

/// A point behind the digits that have none.
std::string withPoint(const std::string &digits)
{
    const std::size_t mark = std::min(digits.find('e'), digits.size());
    return digits.find('.') == std::string::npos ? digits.substr(0, mark) + "." + digits.substr(mark)
                                                 : digits;
}

/// `precision` digits that count; with an exponent from 10^exponentFrom on.
std::string general(double value, std::int64_t precision, std::int64_t exponentFrom, Zeros zeros)
{
    const std::string scientific = converted(value, std::chars_format::scientific, precision - 1);
    const std::size_t mark = scientific.find('e');
    std::int64_t exponent = 0;
    integerOfText(std::string_view(scientific).substr(mark + 1), 10, exponent);
    const auto finished = [zeros](const std::string &digits) {
        return zeros == Zeros::Keep ? withPoint(digits) : withoutZeros(digits);
    };
    if (exponent < -4 || exponent >= exponentFrom)
        return finished(scientific.substr(0, mark)) + scientific.substr(mark);
    return finished(converted(value, std::chars_format::fixed, precision - 1 - exponent));
}

} // namespace

std::string formattedFloat(double value, FloatStyle style, std::int64_t precision, Zeros zeros)
{
    if (style == FloatStyle::Repr || std::isnan(value) || std::isinf(value))
        return zeros == Zeros::Keep && std::isfinite(value) ? withPoint(printedFloat(value))
                                                            : printedFloat(value);
    if (precision > mostPrecision)
        fail("a precision of " + std::to_string(precision) + " exceeds the bound of " +
             std::to_string(mostPrecision));
    if (style == FloatStyle::General)
        return general(value, precision, precision, zeros);
    if (style == FloatStyle::GeneralWithPoint) {
        const std::string digits = general(value, precision, precision - 1, zeros);
        return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
    }
    const bool fixed = style == FloatStyle::Fixed;
    const std::string digits =
        converted(value, fixed ? std::chars_format::fixed : std::chars_format::scientific, precision);
    return zeros == Zeros::Keep ? withPoint(digits) : digits;
}

} // namespace tokenloupe::jinja
