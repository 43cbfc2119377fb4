// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/arguments.h"
#include "engine/chat/jinja/value.h"

#include <string>
#include <string_view>

namespace tokenloupe::jinja {

class Evaluator;

/// Python's format types e, f and g, a precision without a type (as g, but with a digit behind the point),
/// and neither.
enum class FloatStyle { Exponent, Fixed, General, GeneralWithPoint, Repr };
/// Whether General keeps the zeros at its end, and all keep a point without digits behind it.
enum class Zeros { Strip, Keep };
std::string formattedFloat(double value, FloatStyle style, std::int64_t precision,
                           Zeros zeros = Zeros::Strip);

/// One field of a number or a string as "{:>10,.2f}" and "%10.2f" lay it out.
struct FieldSpec
{
    enum class Align { Default, Left, Right, Center, AfterSign };
    std::string fill = " "; ///< one character
    Align align = Align::Default;
    char sign = '-'; ///< '+', '-' or ' '
    bool alternate = false;
    bool positiveZero = false; ///< no sign before what rounds to zero
    std::int64_t digits = 0;   ///< the least of a whole number
    char grouping = '\0';      ///< ',' or '_'
    std::int64_t width = 0;
    std::int64_t precision = -1; ///< -1: none given
    char type = '\0';
};

/// "text % arguments".
Value percentFormat(Meter &meter, const Text &text, const Value &arguments);
/// "text".format(…), with attributes and items looked up as the template does.
TextPtr braceFormat(Evaluator &evaluator, const Text &text, const Arguments &arguments);
/// Lays out one value; `spec` as behind the colon of a brace field.
void appendFormatted(Meter &meter, TextBuilder &out, const Value &value, std::string_view spec);
void appendField(Meter &meter, TextBuilder &out, const Value &value, const FieldSpec &spec);

} // namespace tokenloupe::jinja
