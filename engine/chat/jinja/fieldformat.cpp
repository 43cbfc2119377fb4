// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/literals.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/printing.h"
#include "engine/chat/jinja/stringformat.h"
#include "engine/chat/jinja/textedit.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tokenloupe::jinja {

namespace {

std::string digitsOf(std::uint64_t value, int base)
{
    char buffer[72];
    const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value, base);
    return std::string(buffer, result.ptr);
}

/// Separators every `size` digits of the whole part, which is brought to `least` characters with zeros.
std::string grouped(std::string digits, char separator, std::size_t size, std::size_t least)
{
    // An exponent of a decimal number is none of its digits.
    const std::string_view all = size == 3 ? "0123456789" : "0123456789abcdefABCDEF";
    const std::size_t whole = std::min(digits.find_first_not_of(all), digits.size());
    if (whole == 0) // inf and nan
        return digits;
    const std::size_t rest = digits.size() - whole;
    std::size_t wanted = whole;
    while (wanted + (wanted - 1) / size + rest < least)
        ++wanted;
    digits.insert(0, wanted - whole, '0');
    std::string out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && i < wanted && (wanted - i) % size == 0)
            out += separator;
        out += digits[i];
    }
    return out;
}

struct NumberParts
{
    std::string sign, prefix, digits;
};

void group(NumberParts &parts, const FieldSpec &spec, std::size_t size)
{
    if (!spec.grouping)
        return;
    const bool zeros = spec.fill == "0" && spec.align == FieldSpec::Align::AfterSign;
    const std::size_t front = parts.sign.size() + parts.prefix.size();
    const auto width = static_cast<std::size_t>(std::max<std::int64_t>(spec.width, 0));
    parts.digits =
        grouped(std::move(parts.digits), spec.grouping, size, zeros && width > front ? width - front : 0);
}

NumberParts integerParts(std::int64_t value, const FieldSpec &spec)
{
    NumberParts parts;
    parts.sign = value < 0 ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    const auto size = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    const int base = spec.type == 'b'                       ? 2
                     : spec.type == 'o'                     ? 8
                     : spec.type == 'x' || spec.type == 'X' ? 16
                                                            : 10;
    parts.digits = digitsOf(size, base);
    if (spec.type == 'X')
        std::transform(parts.digits.begin(), parts.digits.end(), parts.digits.begin(),
                       [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c; });
    if (spec.alternate && base != 10)
        parts.prefix = std::string("0") + spec.type;
    if (spec.digits > static_cast<std::int64_t>(parts.digits.size()))
        parts.digits.insert(0, static_cast<std::size_t>(spec.digits) - parts.digits.size(), '0');
    group(parts, spec, base == 10 ? 3 : 4);
    return parts;
}

NumberParts realParts(double value, const FieldSpec &spec)
{
    NumberParts parts;
    parts.sign = std::signbit(value) && !std::isnan(value) ? "-"
                 : spec.sign == '-'                        ? ""
                                                           : std::string(1, spec.sign);
    const double size = std::fabs(value);
    const std::int64_t precision = spec.precision < 0 ? 6 : spec.precision;
    const Zeros zeros = spec.alternate ? Zeros::Keep : Zeros::Strip;
    switch (spec.type) {
    case 'e':
    case 'E':
        parts.digits = formattedFloat(size, FloatStyle::Exponent, precision, zeros);
        break;
    case 'f':
    case 'F':
        parts.digits = formattedFloat(size, FloatStyle::Fixed, precision, zeros);
        break;
    case '%':
        parts.digits = formattedFloat(size * 100, FloatStyle::Fixed, precision, zeros) + "%";
        break;
    case 'g':
    case 'G':
    case 'n':
        parts.digits = formattedFloat(size, FloatStyle::General, std::max<std::int64_t>(precision, 1), zeros);
        break;
    default:
        parts.digits =
            formattedFloat(size, spec.precision < 0 ? FloatStyle::Repr : FloatStyle::GeneralWithPoint,
                           std::max<std::int64_t>(precision, 1), zeros);
        break;
    }
    if (spec.positiveZero && parts.sign == "-" &&
        parts.digits.find_first_of("123456789") == std::string::npos)
        parts.sign = spec.sign == '-' ? "" : std::string(1, spec.sign);
    if (spec.type == 'E' || spec.type == 'F' || spec.type == 'G')
        std::transform(parts.digits.begin(), parts.digits.end(), parts.digits.begin(),
                       [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    group(parts, spec, 3);
    return parts;
}

void appendFilled(Meter &meter, TextBuilder &out, std::int64_t count, const FieldSpec &spec)
{
    if (count > 0)
        out.append(*repeat(meter, *makeText(spec.fill), count));
}

void appendNumber(Meter &meter, TextBuilder &out, const NumberParts &parts, const FieldSpec &spec)
{
    const std::string front = parts.sign + parts.prefix;
    const std::int64_t missing = spec.width - static_cast<std::int64_t>(front.size() + parts.digits.size());
    const bool left = spec.align == FieldSpec::Align::Left;
    const bool center = spec.align == FieldSpec::Align::Center;
    const bool afterSign = spec.align == FieldSpec::Align::AfterSign;
    const std::int64_t before = left || missing <= 0 ? 0 : center ? missing / 2 : missing;
    if (!afterSign)
        appendFilled(meter, out, before, spec);
    out.append(front);
    if (afterSign)
        appendFilled(meter, out, before, spec);
    out.append(parts.digits);
    appendFilled(meter, out, missing - before, spec);
}

} // namespace

void appendField(Meter &meter, TextBuilder &out, const Value &value, const FieldSpec &spec)
{
    static constexpr std::string_view integerTypes = "bcdoxXn";
    static constexpr std::string_view realTypes = "eEfFgG%";
    for (const std::int64_t least : {spec.width, spec.digits}) {
        if (least > 0) {
            meter.checkText(static_cast<std::size_t>(least));
            meter.work(static_cast<std::size_t>(least));
        }
    }
    if (value.isText()) {
        if (spec.type != '\0' && spec.type != 's')
            fail(std::string("the format '") + spec.type + "' does not go with a string");
        TextPtr text = value.as<TextPtr>();
        if (spec.precision >= 0)
            text = slice(meter, *text, Value(), Value(spec.precision), Value());
        const Side side = spec.align == FieldSpec::Align::Right    ? Side::Left
                          : spec.align == FieldSpec::Align::Center ? Side::Both
                                                                   : Side::Right;
        if (side != Side::Both) {
            out.append(*pad(meter, text, spec.width, side, *makeText(spec.fill)));
            return;
        }
        // note: str.center() puts an odd rest elsewhere than a centred field does.
        const std::int64_t missing = spec.width - static_cast<std::int64_t>(lengthOf(meter, *text));
        appendFilled(meter, out, missing / 2, spec);
        out.append(*text);
        appendFilled(meter, out, missing - missing / 2, spec);
        return;
    }
    const bool asInteger = spec.type == '\0' || integerTypes.find(spec.type) != std::string_view::npos;
    const bool asReal =
        spec.type == '\0' || spec.type == 'n' || realTypes.find(spec.type) != std::string_view::npos;
    if (value.isInteger() && spec.type == 'c') {
        if (value.integer() < 0 || value.integer() > 0x10FFFF ||
            (value.integer() >= 0xD800 && value.integer() < 0xE000))
            fail("the format 'c' needs a code point, not " + std::to_string(value.integer()));
        NumberParts parts;
        appendUtf8(parts.digits, static_cast<char32_t>(value.integer()));
        appendNumber(meter, out, parts, spec);
    } else if (value.isInteger() && asInteger) {
        if (spec.precision >= 0)
            fail("a whole number takes no precision in this format");
        appendNumber(meter, out, integerParts(value.integer(), spec), spec);
    } else if (value.isNumber() && asReal) {
        appendNumber(meter, out, realParts(value.real(), spec), spec);
    } else {
        requireDefined(value);
        fail(std::string("the format '") + spec.type + "' does not go with the type '" +
             std::string(typeName(value)) + "'");
    }
}

void appendFormatted(Meter &meter, TextBuilder &out, const Value &value, std::string_view specText)
{
    if (specText.empty()) {
        appendText(meter, out, value);
        return;
    }
    FieldSpec spec;
    std::size_t at = 0;
    const auto alignOf = [](char c) {
        return c == '<'   ? FieldSpec::Align::Left
               : c == '>' ? FieldSpec::Align::Right
               : c == '^' ? FieldSpec::Align::Center
               : c == '=' ? FieldSpec::Align::AfterSign
                          : FieldSpec::Align::Default;
    };
    const auto peek = [&](std::size_t place) { return place < specText.size() ? specText[place] : '\0'; };
    const auto number = [&](std::int64_t otherwise) {
        const std::size_t begin = at;
        std::int64_t result = 0;
        for (; peek(at) >= '0' && peek(at) <= '9'; ++at)
            result = checkedAdd(checkedMultiply(result, 10), peek(at) - '0');
        return at == begin ? otherwise : result;
    };
    const std::size_t first = decodeUtf8(specText, 0).length;
    const bool hasFill = alignOf(peek(first)) != FieldSpec::Align::Default;
    if (hasFill) {
        spec.fill = std::string(specText.substr(0, first));
        spec.align = alignOf(peek(first));
        at = first + 1;
    } else if (alignOf(peek(0)) != FieldSpec::Align::Default) {
        spec.align = alignOf(peek(0));
        at = 1;
    }
    if (peek(at) == '+' || peek(at) == '-' || peek(at) == ' ')
        spec.sign = peek(at++);
    if (peek(at) == 'z') {
        spec.positiveZero = true;
        ++at;
    }
    if (peek(at) == '#') {
        spec.alternate = true;
        ++at;
    }
    if (peek(at) == '0') {
        ++at;
        if (!hasFill)
            spec.fill = "0";
        // A string is filled on its right, as it is without the zero.
        if (spec.align == FieldSpec::Align::Default && !value.isText())
            spec.align = FieldSpec::Align::AfterSign;
    }
    spec.width = number(0);
    if (peek(at) == ',' || peek(at) == '_')
        spec.grouping = peek(at++);
    if (peek(at) == '.') {
        ++at;
        spec.precision = number(-1);
        if (spec.precision < 0)
            fail("the format has no precision behind its '.'");
    }
    if (at < specText.size())
        spec.type = specText[at++];
    if (at < specText.size())
        fail("the format '" + std::string(specText) + "' is malformed");
    if (!value.isText() && !value.isNumber())
        fail("the format '" + std::string(specText) + "' does not go with the type '" +
             std::string(typeName(value)) + "'");
    const bool plain = value.isText() || spec.type == 'c';
    if (spec.grouping &&
        (plain || spec.type == 'n' ||
         (spec.grouping == ',' && std::string_view("boxX").find(spec.type) != std::string_view::npos)))
        fail("the format '" + std::string(specText) + "' cannot group digits");
    if (plain && (spec.sign != '-' || spec.alternate ||
                  (value.isText() ? spec.align == FieldSpec::Align::AfterSign : spec.precision >= 0)))
        fail("the format '" + std::string(specText) + "' is for numbers");
    if (value.is<bool>() && spec.type == '\0')
        spec.type = 'd'; // as Python: with any format a bool is a number
    appendField(meter, out, value, spec);
}

} // namespace tokenloupe::jinja
