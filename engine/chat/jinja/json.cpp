// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/literals.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/objects.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/printing.h"
#include "engine/chat/jinja/sorting.h"
#include "engine/chat/jinja/textedit.h"

#include <cmath>
#include <numeric>

namespace tokenloupe::jinja {

namespace {

void appendEscape(std::string &to, std::uint32_t unit)
{
    static constexpr std::string_view hexDigits = "0123456789abcdef";
    to += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4)
        to += hexDigits[(unit >> shift) & 0xF];
}

void appendString(Meter &meter, TextBuilder &out, const Text &text, JsonStyle::Characters characters)
{
    out.append("\"");
    appendMapped(meter, out, text, [characters](const Utf8Unit &unit, std::string_view, std::string &to) {
        static constexpr std::string_view plain = "\"\\\n\r\t\f\b";
        static constexpr std::string_view letters = "\"\\nrtfb";
        const std::uint32_t code = unit.valid ? static_cast<std::uint32_t>(unit.codePoint) : 0xFFFD;
        if (const std::size_t at = code < 0x80 ? plain.find(static_cast<char>(code)) : std::string_view::npos;
            at != std::string_view::npos) {
            to += '\\';
            to += letters[at];
        } else if (code < 0x20 ||
                   (characters == JsonStyle::Characters::Ascii && code > 0x7E && code < 0x10000)) {
            appendEscape(to, code);
        } else if (characters == JsonStyle::Characters::Ascii && code >= 0x10000) {
            appendEscape(to, 0xD800 + ((code - 0x10000) >> 10));
            appendEscape(to, 0xDC00 + ((code - 0x10000) & 0x3FF));
        } else {
            return Mapping::Keep;
        }
        return Mapping::Replace;
    });
    out.append("\"");
}

std::string jsonNumber(const Value &value)
{
    if (value.is<bool>())
        return value.as<bool>() ? "true" : "false";
    if (value.is<std::int64_t>())
        return std::to_string(value.integer());
    const double real = value.as<double>();
    if (std::isnan(real))
        return "NaN";
    if (std::isinf(real))
        return real < 0 ? "-Infinity" : "Infinity";
    return printedFloat(real);
}

class JsonWriter
{
public:
    JsonWriter(Meter &meter, TextBuilder &out, const JsonStyle &style)
        : m_meter(meter)
        , m_out(out)
        , m_style(style)
    {}

    void write(const Value &value);

private:
    void writeSequence(const Sequence &sequence);
    void writeDictionary(const Dictionary &dictionary);
    void writeKey(const Value &key);
    void newLine();

    Meter &m_meter;
    TextBuilder &m_out;
    const JsonStyle &m_style;
    std::size_t m_level = 0;
};

void JsonWriter::newLine()
{
    if (!m_style.indent)
        return;
    m_out.append("\n");
    for (std::size_t i = 0; i < m_level; ++i)
        m_out.append(**m_style.indent);
}

void JsonWriter::write(const Value &value)
{
    const Meter::Level level(m_meter);
    m_meter.step();
    if (value.isNone())
        m_out.append("null");
    else if (value.isNumber())
        m_out.append(jsonNumber(value));
    else if (value.isText())
        appendString(m_meter, m_out, value.text(), m_style.characters);
    else if (const auto *sequence = value.tryAs<SequencePtr>())
        writeSequence(**sequence);
    else if (const auto *dictionary = value.tryAs<DictionaryPtr>())
        writeDictionary(**dictionary);
    else
        fail("tojson cannot write a value of the type '" + std::string(typeName(value)) + "'");
}

void JsonWriter::writeSequence(const Sequence &sequence)
{
    if (sequence.items.empty()) {
        m_out.append("[]");
        return;
    }
    m_out.append("[");
    ++m_level;
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
        if (i > 0)
            m_out.append(*m_style.itemSeparator);
        newLine();
        write(sequence.items[i]);
    }
    --m_level;
    newLine();
    m_out.append("]");
}

void JsonWriter::writeDictionary(const Dictionary &dictionary)
{
    if (dictionary.size() == 0) {
        m_out.append("{}");
        return;
    }
    std::vector<std::size_t> indices(dictionary.size());
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    if (m_style.keys == JsonStyle::Keys::Sorted) {
        stableSort(indices, [&](std::size_t a, std::size_t b) {
            return order(m_meter, dictionary.entries()[a].first, dictionary.entries()[b].first) < 0;
        });
    }
    m_out.append("{");
    ++m_level;
    bool first = true;
    for (const std::size_t index : indices) {
        if (!first)
            m_out.append(*m_style.itemSeparator);
        first = false;
        newLine();
        writeKey(dictionary.entries()[index].first);
        m_out.append(*m_style.keySeparator);
        write(dictionary.entries()[index].second);
    }
    --m_level;
    newLine();
    m_out.append("}");
}

void JsonWriter::writeKey(const Value &key)
{
    if (key.isText())
        appendString(m_meter, m_out, key.text(), m_style.characters);
    else if (key.isNumber())
        m_out.append("\"" + jsonNumber(key) + "\"");
    else if (key.isNone())
        m_out.append("\"null\"");
    else
        fail("tojson cannot write a key of the type '" + std::string(typeName(key)) + "'");
}

} // namespace

void appendJson(Meter &meter, TextBuilder &out, const Value &value, const JsonStyle &style)
{
    JsonWriter(meter, out, style).write(value);
}

} // namespace tokenloupe::jinja
