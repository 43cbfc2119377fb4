// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/printing.h"

#include "engine/base/utf8.h"
#include "engine/chat/jinja/functions.h"
#include "engine/chat/jinja/literals.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/methods.h"
#include "engine/chat/jinja/objects.h"
#include "engine/chat/jinja/textedit.h"
#include "engine/chat/jinja/unicode.h"

namespace tokenloupe::jinja {

namespace {

constexpr std::string_view hexDigits = "0123456789abcdef";

void appendHex(std::string &out, char32_t code, int digits)
{
    for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4)
        out += hexDigits[(code >> shift) & 0xF];
}

void appendEscaped(std::string &out, char32_t code)
{
    out += code < 0x100 ? "\\x" : code < 0x10000 ? "\\u" : "\\U";
    appendHex(out, code, code < 0x100 ? 2 : code < 0x10000 ? 4 : 8);
}

void appendTextRepr(Meter &meter, TextBuilder &out, const Text &text)
{
    const bool hasSingle = text.bytes.find('\'') != std::string::npos;
    const char quote = hasSingle && text.bytes.find('"') == std::string::npos ? '"' : '\'';
    if (text.markup)
        out.append("Markup(");
    out.append(1, quote);
    appendMapped(meter, out, text, [quote](const Utf8Unit &unit, std::string_view bytes, std::string &to) {
        const char32_t code = unit.codePoint;
        if (!unit.valid) {
            to += "\\x";
            appendHex(to, static_cast<unsigned char>(bytes[0]), 2);
        } else if (code == U'\\' || code == static_cast<char32_t>(quote)) {
            to += '\\';
            to += bytes;
        } else if (code == U'\n' || code == U'\r' || code == U'\t') {
            to += code == U'\n' ? "\\n" : code == U'\r' ? "\\r" : "\\t";
        } else if (isPrintable(code)) {
            return Mapping::Keep;
        } else {
            appendEscaped(to, code);
        }
        return Mapping::Replace;
    });
    out.append(1, quote);
    if (text.markup)
        out.append(")");
}

void appendItems(Meter &meter, TextBuilder &out, const std::vector<Value> &items)
{
    bool first = true;
    for (const Value &item : items) {
        if (!first)
            out.append(", ");
        first = false;
        appendRepr(meter, out, item);
    }
}

void appendSequence(Meter &meter, TextBuilder &out, const Sequence &sequence)
{
    const bool list = sequence.kind == Sequence::Kind::List;
    out.append(list ? "[" : "(");
    appendItems(meter, out, sequence.items);
    if (!list && sequence.items.size() == 1)
        out.append(",");
    out.append(list ? "]" : ")");
}

void appendDictionary(Meter &meter, TextBuilder &out, const Dictionary &dictionary)
{
    out.append("{");
    bool first = true;
    for (const auto &[key, value] : dictionary.entries()) {
        if (!first)
            out.append(", ");
        first = false;
        appendRepr(meter, out, key);
        out.append(": ");
        appendRepr(meter, out, value);
    }
    out.append("}");
}

void appendNamespace(Meter &meter, TextBuilder &out, const Namespace &space)
{
    out.append("<Namespace {");
    bool first = true;
    for (const auto &[name, value] : space.members) {
        if (!first)
            out.append(", ");
        first = false;
        appendTextRepr(meter, out, *name);
        out.append(": ");
        appendRepr(meter, out, value);
    }
    out.append("}>");
}

void appendObject(Meter &meter, TextBuilder &out, const Value &value)
{
    if (const auto range = objectAs<RangeObject>(value, Object::Type::Range)) {
        out.append("range(" + std::to_string(range->start) + ", " + std::to_string(range->stop));
        if (range->step != 1)
            out.append(", " + std::to_string(range->step));
        out.append(")");
    } else if (const auto view = objectAs<ViewObject>(value, Object::Type::View)) {
        out.append(view->name);
        out.append("([");
        appendItems(meter, out, view->items->items);
        out.append("])");
    } else if (const auto method = objectAs<MethodObject>(value, Object::Type::Method)) {
        out.append("<built-in method ");
        out.append(method->entry->name);
        out.append(" of " + std::string(typeName(method->self)) + " object>");
    } else if (const auto function = objectAs<FunctionObject>(value, Object::Type::Function)) {
        out.append("<function ");
        out.append(function->entry->name);
        out.append(">");
    } else {
        out.append("<" + std::string(typeName(value)) + " object>");
    }
}

} // namespace

TextPtr toText(Meter &meter, const Value &value)
{
    if (value.isText())
        return value.as<TextPtr>();
    TextBuilder builder(meter);
    appendText(meter, builder, value);
    return builder.finish();
}

void appendText(Meter &meter, TextBuilder &out, const Value &value)
{
    if (value.isText())
        out.append(value.text());
    else if (!value.isUndefined())
        appendRepr(meter, out, value);
}

void appendRepr(Meter &meter, TextBuilder &out, const Value &value)
{
    const Meter::Level level(meter);
    meter.step();
    if (value.isUndefined())
        out.append("Undefined");
    else if (value.isNone())
        out.append("None");
    else if (value.is<bool>())
        out.append(value.as<bool>() ? "True" : "False");
    else if (value.is<std::int64_t>())
        out.append(std::to_string(value.integer()));
    else if (value.is<double>())
        out.append(printedFloat(value.as<double>()));
    else if (value.isText())
        appendTextRepr(meter, out, value.text());
    else if (const auto *sequence = value.tryAs<SequencePtr>())
        appendSequence(meter, out, **sequence);
    else if (const auto *dictionary = value.tryAs<DictionaryPtr>())
        appendDictionary(meter, out, **dictionary);
    else if (const auto *space = value.tryAs<Namespace *>())
        appendNamespace(meter, out, **space);
    else if (const auto *macro = value.tryAs<Macro *>())
        out.append((*macro)->definition->name ? "<Macro '" + (*macro)->definition->name->bytes + "'>"
                                              : "<Macro anonymous>");
    else if (const auto *loop = value.tryAs<Loop *>())
        out.append("<LoopContext " + std::to_string((*loop)->index + 1) + "/" +
                   std::to_string((*loop)->items->items.size()) + ">");
    else
        appendObject(meter, out, value);
}

void appendAsciiRepr(Meter &meter, TextBuilder &out, const Value &value)
{
    TextBuilder repr(meter);
    appendRepr(meter, repr, value);
    appendMapped(meter, out, *repr.finish(), [](const Utf8Unit &unit, std::string_view, std::string &to) {
        if (!unit.valid || unit.codePoint < 0x80)
            return Mapping::Keep;
        appendEscaped(to, unit.codePoint);
        return Mapping::Replace;
    });
}

std::string shownRepr(const Value &value)
{
    constexpr std::size_t longest = 80;
    if (value.isText()) {
        const std::string &bytes = value.text().bytes;
        return "'" + sanitizedUtf8(bytes.substr(0, longest)) + (bytes.size() > longest ? "…'" : "'");
    }
    if (value.is<std::int64_t>())
        return std::to_string(value.integer());
    if (value.is<double>())
        return printedFloat(value.as<double>());
    if (value.is<bool>())
        return value.as<bool>() ? "True" : "False";
    if (value.isNone())
        return "None";
    return "a " + std::string(typeName(value));
}

TextPtr escaped(Meter &meter, const Text &text)
{
    TextBuilder builder(meter);
    appendMapped(meter, builder, text, [](const Utf8Unit &unit, std::string_view, std::string &to) {
        switch (unit.valid ? unit.codePoint : U'\0') {
        case U'&':
            to += "&amp;";
            return Mapping::Replace;
        case U'<':
            to += "&lt;";
            return Mapping::Replace;
        case U'>':
            to += "&gt;";
            return Mapping::Replace;
        case U'\'':
            to += "&#39;";
            return Mapping::Replace;
        case U'"':
            to += "&#34;";
            return Mapping::Replace;
        default:
            return Mapping::Keep;
        }
    });
    return builder.finish(true);
}

} // namespace tokenloupe::jinja
