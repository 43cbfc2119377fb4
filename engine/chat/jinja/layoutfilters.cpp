// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/filters.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/printing.h"
#include "engine/chat/jinja/stringformat.h"
#include "engine/chat/jinja/textedit.h"

#include <array>
#include <cmath>

namespace tokenloupe::jinja {

namespace {

Value centerFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("center", arguments, {"width"});
    Meter &meter = evaluator.meter();
    return pad(meter, toText(meter, input), bound.integer(0, 80), Side::Both, *makeText(" "));
}

Value indentFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("indent", arguments, {"width", "first", "blank"});
    Meter &meter = evaluator.meter();
    requireDefined(input);
    if (!input.isText())
        fail("indent() expects a string, found '" + std::string(typeName(input)) + "'");
    const bool byText = bound.has(0) && bound[0]->isText();
    const TextPtr indention =
        byText ? bound[0]->as<TextPtr>() : repeat(meter, *makeText(" "), bound.integer(0, 4));
    // With one more line end the last, perhaps empty line counts as a line.
    const TextPtr ended = concat(meter, *asPlain(meter, input.as<TextPtr>()), *makeText("\n"));
    const std::vector<Value> lines = splitLines(meter, *ended, LineEnds::Drop);
    TextBuilder out(meter);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i > 0)
            out.append("\n");
        const bool indents = i == 0 ? bound.isSet(1) : bound.isSet(2) || isTrue(lines[i]);
        if (indents)
            out.append(*indention);
        out.append(lines[i].text());
    }
    return out.finish(input.text().markup);
}

Value truncateFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
    Meter &meter = evaluator.meter();
    const std::int64_t length = bound.integer(0, 255);
    const TextPtr *given = bound.text(2);
    const TextPtr end = given ? *given : makeText("...");
    const auto endLength = static_cast<std::int64_t>(lengthOf(meter, *end));
    const std::int64_t leeway = bound.has(3) && !bound[3]->isNone() ? bound.integer(3, 5) : 5;
    if (length < endLength || leeway < 0)
        fail("truncate() expects a length of at least " + std::to_string(endLength) +
             " and no negative leeway");
    std::int64_t have = 0;
    if (lengthOf(meter, input, have) == HasLength::Yes && have <= checkedAdd(length, leeway))
        return input;
    if (!input.isText())
        fail("truncate() expects a string, found '" + std::string(typeName(input)) + "'");
    TextPtr kept = slice(meter, input.text(), Value(), Value(length - endLength), Value());
    if (!bound.isSet(1))
        kept = split(meter, *kept, makeText(" ").get(), 1, Side::Right).front().as<TextPtr>();
    return concat(meter, *kept, *end);
}

Value fileSizeFilter(Evaluator &, const Value &input, const Arguments &arguments)
{
    const Bound bound("filesizeformat", arguments, {"binary"});
    static constexpr std::array<std::string_view, 8> decimal{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
    static constexpr std::array<std::string_view, 8> binaryNames{"KiB", "MiB", "GiB", "TiB",
                                                                 "PiB", "EiB", "ZiB", "YiB"};
    requireDefined(input);
    if (!input.isNumber())
        fail("filesizeformat() expects a number, found '" + std::string(typeName(input)) + "'");
    const bool binaryPrefixes = bound.isSet(0);
    const double base = binaryPrefixes ? 1024 : 1000;
    const double bytes = input.real();
    if (bytes == 1)
        return makeText("1 Byte");
    if (bytes < base)
        return makeText(
            formattedFloat(bytes < 0 ? -std::floor(-bytes) : std::floor(bytes), FloatStyle::Fixed, 0) +
            " Bytes");
    double unit = base;
    std::size_t prefix = 0;
    while (prefix + 1 < decimal.size() && bytes >= unit * base) {
        unit *= base;
        ++prefix;
    }
    const std::string name((binaryPrefixes ? binaryNames : decimal)[prefix]);
    return makeText(formattedFloat(bytes / unit, FloatStyle::Fixed, 1) + " " + name);
}

} // namespace

std::span<const FilterEntry> layoutFilters()
{
    static constexpr std::array<FilterEntry, 4> filters{{
        {"center", centerFilter},
        {"indent", indentFilter},
        {"truncate", truncateFilter},
        {"filesizeformat", fileSizeFilter},
    }};
    return filters;
}

} // namespace tokenloupe::jinja
