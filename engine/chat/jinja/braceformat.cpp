// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/literals.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/printing.h"
#include "engine/chat/jinja/stringformat.h"

#include <algorithm>

namespace tokenloupe::jinja {

namespace {

enum class Numbering { Undecided, Automatic, Manual };

class BraceFormatter
{
public:
    BraceFormatter(Evaluator &evaluator, const Arguments &arguments)
        : m_evaluator(evaluator)
        , m_meter(evaluator.meter())
        , m_arguments(arguments)
    {}

    /// `nesting`: how many more levels of fields inside of format specifications are allowed.
    void format(TextBuilder &out, const Text &text, std::size_t nesting);

private:
    void appendOneField(TextBuilder &out, const Text &text, std::size_t begin, std::size_t end,
                        std::size_t nesting);
    Value lookUp(std::string_view name);
    const Value &argument(std::string_view first);

    Evaluator &m_evaluator;
    Meter &m_meter;
    const Arguments &m_arguments;
    Numbering m_numbering = Numbering::Undecided;
    std::size_t m_next = 0;
};

bool isNumber(std::string_view text)
{
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

const Value &BraceFormatter::argument(std::string_view first)
{
    const bool automatic = first.empty();
    if (!automatic && !isNumber(first)) {
        for (const auto &[name, value] : m_arguments.named) {
            if (name->bytes == first)
                return value;
        }
        fail("there is no '" + std::string(first) + "' for the format");
    }
    const Numbering wanted = automatic ? Numbering::Automatic : Numbering::Manual;
    if (m_numbering != Numbering::Undecided && m_numbering != wanted)
        fail("a format cannot mix numbered fields and fields without a number");
    m_numbering = wanted;
    std::int64_t index = 0;
    if (automatic)
        index = static_cast<std::int64_t>(m_next++);
    else if (integerOfText(first, 10, index) != IntegerText::Good)
        index = -1;
    if (index < 0 || static_cast<std::size_t>(index) >= m_arguments.positional.size())
        fail("the format names an argument that is not passed");
    return m_arguments.positional[static_cast<std::size_t>(index)];
}

Value BraceFormatter::lookUp(std::string_view name)
{
    std::size_t at = std::min(name.find_first_of(".["), name.size());
    Value value = argument(name.substr(0, at));
    while (at < name.size()) {
        m_meter.step();
        if (name[at] == '.') {
            const std::size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
            if (end == at + 1)
                fail("the format has an empty attribute");
            value = m_evaluator.attribute(value, makeText(std::string(name.substr(at + 1, end - at - 1))));
            at = end;
        } else if (name[at] == '[') {
            const std::size_t end = name.find(']', at);
            if (end == std::string_view::npos)
                fail("the format has an open bracket, expected ']'");
            const std::string_view key = name.substr(at + 1, end - at - 1);
            std::int64_t index = 0;
            const bool number = isNumber(key) && integerOfText(key, 10, index) == IntegerText::Good;
            value = m_evaluator.item(value, number ? Value(index) : Value(makeText(std::string(key))));
            at = end + 1;
        } else {
            fail("the format needs '.' or '[' behind ']'");
        }
    }
    return value;
}

void BraceFormatter::appendOneField(TextBuilder &out, const Text &text, std::size_t begin, std::size_t end,
                                    std::size_t nesting)
{
    const std::string_view field = std::string_view(text.bytes).substr(begin, end - begin);
    // A colon or '!' inside of brackets belongs to the key.
    std::size_t nameEnd = 0;
    for (bool inKey = false; nameEnd < field.size(); ++nameEnd) {
        const char c = field[nameEnd];
        if (!inKey && (c == ':' || c == '!'))
            break;
        inKey = c == '[' || (inKey && c != ']');
    }
    Value value = lookUp(field.substr(0, nameEnd));
    std::size_t at = nameEnd;
    if (at < field.size() && field[at] == '!') {
        const char conversion = at + 1 < field.size() ? field[at + 1] : '\0';
        if ((conversion != 's' && conversion != 'r' && conversion != 'a') ||
            (at + 2 < field.size() && field[at + 2] != ':'))
            fail("the format expects '!s', '!r' or '!a'");
        TextBuilder converted(m_meter);
        if (conversion == 's')
            appendText(m_meter, converted, value);
        else if (conversion == 'r')
            appendRepr(m_meter, converted, value);
        else
            appendAsciiRepr(m_meter, converted, value);
        value = converted.finish();
        at += 2;
    }
    TextBuilder spec(m_meter);
    if (at < field.size())
        format(spec, *subText(m_meter, text, begin + at + 1, end), nesting - 1);
    appendFormatted(m_meter, out, value, spec.takeBytes());
}

void BraceFormatter::format(TextBuilder &out, const Text &text, std::size_t nesting)
{
    const std::string_view bytes = text.bytes;
    std::size_t kept = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        if (bytes[at] != '{' && bytes[at] != '}')
            continue;
        m_meter.step();
        out.append(text, kept, at);
        if (at + 1 < bytes.size() && bytes[at + 1] == bytes[at]) {
            out.append(text, at, at + 1);
            kept = ++at + 1;
            continue;
        }
        if (bytes[at] == '}')
            fail("the format has a single '}'");
        if (nesting == 0)
            fail("the format nests fields too deeply");
        std::size_t depth = 1;
        std::size_t end = at + 1;
        for (; end < bytes.size(); ++end) {
            depth += bytes[end] == '{' ? 1U : 0U;
            depth -= bytes[end] == '}' ? 1U : 0U;
            if (depth == 0)
                break;
        }
        if (depth > 0)
            fail("the format has an open '{', expected '}'");
        m_meter.work(end - at);
        appendOneField(out, text, at + 1, end, nesting);
        at = end;
        kept = end + 1;
    }
    out.append(text, kept, bytes.size());
}

} // namespace

TextPtr braceFormat(Evaluator &evaluator, const Text &text, const Arguments &arguments)
{
    TextBuilder out(evaluator.meter());
    BraceFormatter(evaluator, arguments).format(out, text, 2);
    return out.finish(text.markup);
}

} // namespace tokenloupe::jinja
