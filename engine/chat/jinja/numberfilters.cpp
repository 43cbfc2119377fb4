// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/filters.h"
#include "engine/chat/jinja/literals.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/stringformat.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace tokenloupe::jinja {

namespace {

[[noreturn]] void failTooLarge()
{
    fail("the number is beyond the bound of 64-bit integers");
}

/// Toward zero; nothing for what is no number.
std::optional<std::int64_t> wholePart(double value)
{
    if (std::isnan(value) || std::isinf(value))
        return std::nullopt;
    if (!(std::fabs(value) < 0x1p63))
        failTooLarge();
    return static_cast<std::int64_t>(value);
}

Value absFilter(Evaluator &, const Value &input, const Arguments &arguments)
{
    const Bound bound("abs", arguments, {});
    requireDefined(input);
    if (input.is<double>())
        return std::fabs(input.as<double>());
    if (!input.isInteger())
        fail("abs() expects a number, found '" + std::string(typeName(input)) + "'");
    return input.integer() < 0 ? unary(Operator::Negate, input) : Value(input.integer());
}

Value intFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("int", arguments, {"default", "base"});
    requireDefined(input);
    const Value otherwise = bound.has(0) ? *bound[0] : Value(std::int64_t{0});
    if (input.isInteger())
        return input.integer();
    if (input.is<double>()) {
        const std::optional<std::int64_t> whole = wholePart(input.as<double>());
        return whole ? Value(*whole) : otherwise;
    }
    if (!input.isText())
        return otherwise;
    const std::string &bytes = input.text().bytes;
    evaluator.meter().work(bytes.size() * 2);
    const std::int64_t base = bound.integer(1, 10);
    if (base != 0 && (base < 2 || base > 36))
        fail("int() expects a base of 0 or from 2 to 36");
    std::int64_t value = 0;
    switch (integerOfText(bytes, static_cast<int>(base), value)) {
    case IntegerText::Good:
        return value;
    case IntegerText::TooLarge:
        failTooLarge();
    case IntegerText::Malformed:
        break;
    }
    if (const std::optional<double> real = floatOfText(bytes)) {
        if (const std::optional<std::int64_t> whole = wholePart(*real))
            return *whole;
    }
    return otherwise;
}

Value floatFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("float", arguments, {"default"});
    requireDefined(input);
    if (input.isNumber())
        return input.real();
    if (input.isText()) {
        evaluator.meter().work(input.text().bytes.size() * 2);
        if (const std::optional<double> value = floatOfText(input.text().bytes))
            return *value;
    }
    return bound.has(0) ? *bound[0] : Value(0.0);
}

/// To the nearest, exact halves to the even digit, as Python rounds.
double rounded(double value, std::int64_t precision)
{
    if (std::isnan(value) || std::isinf(value) || precision > 300)
        return value;
    if (precision < 0) {
        const double unit = std::pow(10.0, static_cast<double>(-std::max<std::int64_t>(precision, -400)));
        return std::isinf(unit) ? std::copysign(0.0, value) : std::nearbyint(value / unit) * unit;
    }
    const std::string digits = formattedFloat(value, FloatStyle::Fixed, precision);
    double result = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), result);
    return result;
}

Value roundFilter(Evaluator &, const Value &input, const Arguments &arguments)
{
    const Bound bound("round", arguments, {"precision", "method"});
    requireDefined(input);
    if (!input.isNumber())
        fail("round() expects a number, found '" + std::string(typeName(input)) + "'");
    const std::int64_t precision = bound.integer(0, 0);
    const TextPtr *given = bound.text(1);
    const std::string_view method = given ? std::string_view((*given)->bytes) : "common";
    if (method == "common") {
        if (input.isInteger() && precision >= 0)
            return input.integer();
        const double result = rounded(input.real(), precision);
        if (!input.isInteger())
            return result;
        const std::optional<std::int64_t> whole = wholePart(result);
        return whole ? Value(*whole) : Value(result);
    }
    if (method != "ceil" && method != "floor")
        fail("round() expects 'common', 'ceil' or 'floor' as its method");
    const double unit = std::pow(10.0, static_cast<double>(precision));
    const double scaled = input.real() * unit;
    return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit;
}

Value defaultFilter(Evaluator &, const Value &input, const Arguments &arguments)
{
    const Bound bound("default", arguments, {"default_value", "boolean"});
    const bool replaces = input.isUndefined() || (bound.isSet(1) && !isTrue(input));
    if (!replaces)
        return input;
    return bound.has(0) ? *bound[0] : Value(emptyText());
}

Value lengthFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("length", arguments, {});
    std::int64_t length = 0;
    if (lengthOf(evaluator.meter(), input, length) == HasLength::No)
        fail("'" + std::string(typeName(input)) + "' has no length");
    return length;
}

} // namespace

std::span<const FilterEntry> numberFilters()
{
    static constexpr std::array<FilterEntry, 8> filters{{
        {"abs", absFilter},
        {"int", intFilter},
        {"float", floatFilter},
        {"round", roundFilter},
        {"default", defaultFilter},
        {"d", defaultFilter},
        {"length", lengthFilter},
        {"count", lengthFilter},
    }};
    return filters;
}

} // namespace tokenloupe::jinja
