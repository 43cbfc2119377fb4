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

namespace tokenloupe::jinja {

namespace {

TextPtr plainText(Meter &meter, const Value &value)
{
    return asPlain(meter, toText(meter, value));
}

template <Case target>
Value caseFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound(target == Case::Upper ? "upper" : "lower", arguments, {});
    return changeCase(evaluator.meter(), *toText(evaluator.meter(), input), target);
}

Value capitalizeFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("capitalize", arguments, {});
    return capitalize(evaluator.meter(), *toText(evaluator.meter(), input));
}

/// Unlike str.title() words begin only behind spaces, hyphens and opening brackets.
Value titleFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("title", arguments, {});
    Meter &meter = evaluator.meter();
    const TextPtr text = toText(meter, input);
    TextBuilder out(meter);
    bool begins = true;
    appendMapped(meter, out, *text, [&begins](const Utf8Unit &unit, std::string_view, std::string &to) {
        const char32_t code = unit.codePoint;
        const bool separates =
            unit.valid &&
            (isSpace(code) || (code < 0x80 && std::string_view("-({[<").find(static_cast<char>(code)) !=
                                                  std::string_view::npos));
        const bool first = std::exchange(begins, separates);
        if (separates || !unit.valid)
            return Mapping::Keep;
        appendCased(to, code, first ? Case::Upper : Case::Lower);
        return Mapping::Replace;
    });
    return out.finish(text->markup);
}

Value trimFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("trim", arguments, {"chars"});
    const TextPtr *characters = bound.text(0);
    return strip(evaluator.meter(), toText(evaluator.meter(), input), Side::Both,
                 characters ? characters->get() : nullptr);
}

Value replaceFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
    Meter &meter = evaluator.meter();
    const std::int64_t count = bound.has(2) && bound[2]->isNone() ? -1 : bound.integer(2, -1);
    return replace(meter, *plainText(meter, input), *toText(meter, *bound[0]), *toText(meter, *bound[1]),
                   count);
}

Value stringFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("string", arguments, {});
    return toText(evaluator.meter(), input);
}

Value safeFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("safe", arguments, {});
    return asMarkup(evaluator.meter(), toText(evaluator.meter(), input));
}

Value escapeFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("escape", arguments, {});
    const TextPtr text = toText(evaluator.meter(), input);
    return text->markup ? text : escaped(evaluator.meter(), *text);
}

Value forceEscapeFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("forceescape", arguments, {});
    return escaped(evaluator.meter(), *toText(evaluator.meter(), input));
}

Value formatFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    if (!arguments.named.empty() && !arguments.positional.empty())
        fail("format() takes arguments with names or without, not both");
    Meter &meter = evaluator.meter();
    const TextPtr text = toText(meter, input);
    if (arguments.named.empty())
        return percentFormat(meter, *text, makeTuple(meter, arguments.positional));
    auto members = std::make_shared<Dictionary>();
    for (const auto &[name, value] : arguments.named)
        members->insert(meter, name, value);
    return percentFormat(meter, *text, DictionaryPtr(std::move(members)));
}

Value wordCountFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("wordcount", arguments, {});
    const TextPtr text = toText(evaluator.meter(), input);
    evaluator.meter().work(text->bytes.size() * 4);
    std::int64_t count = 0;
    bool inWord = false;
    for (std::size_t at = 0; at < text->bytes.size();) {
        const Utf8Unit unit = decodeUtf8(text->bytes, at);
        const bool word = unit.valid && (unit.codePoint == U'_' || isAlphabetic(unit.codePoint) ||
                                         isNumeric(unit.codePoint));
        count += word && !inWord ? 1 : 0;
        inWord = word;
        at += unit.length;
    }
    return count;
}

/// Everything but letters, digits and _.-~ as %XX.
void appendQuoted(Meter &meter, TextBuilder &out, const Text &text, std::string_view alsoSafe,
                  std::string_view space)
{
    appendMapped(meter, out, text, [&](const Utf8Unit &unit, std::string_view bytes, std::string &to) {
        static constexpr std::string_view hexDigits = "0123456789ABCDEF";
        const char first = bytes[0];
        const bool safe = unit.valid && unit.codePoint < 0x80 &&
                          (isAlphabetic(unit.codePoint) || isDecimal(unit.codePoint) ||
                           std::string_view("_.-~").find(first) != std::string_view::npos ||
                           alsoSafe.find(first) != std::string_view::npos);
        if (safe)
            return Mapping::Keep;
        if (unit.valid && first == ' ') {
            to += space;
            return Mapping::Replace;
        }
        for (const char byte : bytes) {
            to += '%';
            to += hexDigits[static_cast<unsigned char>(byte) >> 4];
            to += hexDigits[static_cast<unsigned char>(byte) & 0xF];
        }
        return Mapping::Replace;
    });
}

Value urlEncodeFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("urlencode", arguments, {});
    Meter &meter = evaluator.meter();
    TextBuilder out(meter);
    if (input.isText() || !isIterable(input)) {
        appendQuoted(meter, out, *toText(meter, input), "/", "%20");
        return out.finish();
    }
    const auto appendPair = [&](const Value &key, const Value &value) {
        if (out.size() > 0)
            out.append("&");
        appendQuoted(meter, out, *toText(meter, key), "", "+");
        out.append("=");
        appendQuoted(meter, out, *toText(meter, value), "", "+");
    };
    if (const auto *dictionary = input.tryAs<DictionaryPtr>()) {
        for (const auto &[key, value] : (*dictionary)->entries())
            appendPair(key, value);
        return out.finish();
    }
    for (const SequencePtr sequence = iterate(meter, input); const Value &pair : sequence->items) {
        const SequencePtr parts = iterate(meter, pair);
        if (parts->items.size() != 2)
            fail("urlencode() expects pairs");
        appendPair(parts->items[0], parts->items[1]);
    }
    return out.finish();
}

Value xmlAttributesFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("xmlattr", arguments, {"autospace"});
    requireDefined(input);
    const auto *dictionary = input.tryAs<DictionaryPtr>();
    if (!dictionary)
        fail("xmlattr() expects a dict");
    Meter &meter = evaluator.meter();
    TextBuilder out(meter);
    const bool autospace = !bound.has(0) || bound.isSet(0);
    for (const auto &[key, value] : (*dictionary)->entries()) {
        meter.step();
        if (value.isNone() || value.isUndefined())
            continue;
        const TextPtr name = toText(meter, key);
        if (name->bytes.find_first_of(" \t\r\n\f/>=") != std::string::npos)
            fail("xmlattr() cannot write a name with spaces or any of '/', '>' and '='");
        if (autospace || out.size() > 0)
            out.append(" ");
        out.append(*escaped(meter, *name));
        out.append("=\"");
        const TextPtr text = toText(meter, value);
        out.append(text->markup ? *text : *escaped(meter, *text));
        out.append("\"");
    }
    return out.finish();
}

Value toJsonFilter(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
    Meter &meter = evaluator.meter();
    JsonStyle style;
    style.characters = bound.isSet(0) ? JsonStyle::Characters::Ascii : JsonStyle::Characters::All;
    style.keys = bound.isSet(3) ? JsonStyle::Keys::Sorted : JsonStyle::Keys::AsInserted;
    if (const Value *indent = bound[1]; indent && indent->isText())
        style.indent = indent->as<TextPtr>();
    else if (indent && !indent->isNone())
        style.indent = repeat(meter, *makeText(" "), bound.integer(1, 0));
    style.itemSeparator = makeText(style.indent ? "," : ", ");
    style.keySeparator = makeText(": ");
    if (const Value *separators = bound[2]; separators && !separators->isNone()) {
        const SequencePtr parts = iterate(meter, *separators);
        if (parts->items.size() != 2 || !parts->items[0].isText() || !parts->items[1].isText())
            fail("tojson() expects two strings as 'separators'");
        style.itemSeparator = parts->items[0].as<TextPtr>();
        style.keySeparator = parts->items[1].as<TextPtr>();
    }
    TextBuilder out(meter);
    appendJson(meter, out, input, style);
    return out.finish();
}

} // namespace

std::span<const FilterEntry> textFilters()
{
    static constexpr std::array<FilterEntry, 16> filters{{
        {"upper", caseFilter<Case::Upper>},
        {"lower", caseFilter<Case::Lower>},
        {"capitalize", capitalizeFilter},
        {"title", titleFilter},
        {"trim", trimFilter},
        {"replace", replaceFilter},
        {"string", stringFilter},
        {"safe", safeFilter},
        {"escape", escapeFilter},
        {"e", escapeFilter},
        {"forceescape", forceEscapeFilter},
        {"format", formatFilter},
        {"wordcount", wordCountFilter},
        {"urlencode", urlEncodeFilter},
        {"xmlattr", xmlAttributesFilter},
        {"tojson", toJsonFilter},
    }};
    return filters;
}

} // namespace tokenloupe::jinja
