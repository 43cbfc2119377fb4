// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/literals.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/printing.h"
#include "engine/chat/jinja/stringformat.h"
#include "engine/chat/jinja/textedit.h"

#include <cmath>
#include <utility>

namespace tokenloupe::jinja {

namespace {

class PercentFormatter
{
public:
    PercentFormatter(Meter &meter, const Text &text, const Value &arguments)
        : m_meter(meter)
        , m_text(text)
        , m_out(meter)
        , m_arguments(arguments)
    {
        const auto *sequence = arguments.tryAs<SequencePtr>();
        m_tuple = sequence && (*sequence)->kind != Sequence::Kind::List ? sequence->get() : nullptr;
    }

    TextPtr run();

private:
    char peek() const { return m_at < m_text.bytes.size() ? m_text.bytes[m_at] : '\0'; }
    const Value &nextArgument();
    std::int64_t number(std::int64_t otherwise);
    void readField();
    void appendConverted(const Value &value, FieldSpec spec);

    Meter &m_meter;
    const Text &m_text;
    TextBuilder m_out;
    const Value &m_arguments;
    const Sequence *m_tuple;
    std::size_t m_at = 0;
    std::size_t m_used = 0;
    bool m_named = false;
};

const Value &PercentFormatter::nextArgument()
{
    const std::size_t count = m_tuple ? m_tuple->items.size() : 1;
    if (m_used >= count)
        fail("there are not enough arguments for the format string");
    const Value &value = m_tuple ? m_tuple->items[m_used] : m_arguments;
    ++m_used;
    return value;
}

std::int64_t PercentFormatter::number(std::int64_t otherwise)
{
    if (peek() == '*') {
        ++m_at;
        const Value &value = nextArgument();
        if (!value.isInteger())
            fail("'*' in a format needs a whole number");
        return value.integer();
    }
    const std::size_t begin = m_at;
    std::int64_t result = 0;
    for (; peek() >= '0' && peek() <= '9'; ++m_at)
        result = checkedAdd(checkedMultiply(result, 10), peek() - '0');
    return m_at == begin ? otherwise : result;
}

void PercentFormatter::readField()
{
    const Value *value = nullptr;
    if (peek() == '(') {
        const std::size_t end = m_text.bytes.find(')', m_at);
        if (end == std::string::npos)
            fail("the key in the format is not closed, expected ')'");
        const auto *dictionary = m_arguments.tryAs<DictionaryPtr>();
        if (!dictionary)
            fail("a format with keys needs a dict");
        const std::string key = m_text.bytes.substr(m_at + 1, end - m_at - 1);
        value = (*dictionary)->findName(m_meter, key);
        if (!value)
            fail("there is no '" + key + "' for the format");
        m_named = true;
        m_at = end + 1;
    }
    FieldSpec spec;
    bool zero = false;
    bool left = false;
    for (; std::string_view("#0- +").find(peek()) != std::string_view::npos && peek() != '\0'; ++m_at) {
        const char flag = peek();
        zero = zero || flag == '0';
        left = left || flag == '-';
        spec.alternate = spec.alternate || flag == '#';
        if (flag == '+' || (flag == ' ' && spec.sign != '+'))
            spec.sign = flag;
    }
    spec.width = number(0);
    if (spec.width < 0) { // only from '*'
        left = true;
        spec.width = checkedMultiply(spec.width, -1);
    }
    if (peek() == '.') {
        ++m_at;
        spec.precision = std::max<std::int64_t>(number(0), 0);
    }
    while (peek() == 'h' || peek() == 'l' || peek() == 'L')
        ++m_at;
    spec.type = peek();
    if (spec.type == '\0')
        fail("the format string ends inside of a field");
    ++m_at;
    spec.align = left ? FieldSpec::Align::Left : FieldSpec::Align::Right;
    if (spec.type == '%') {
        m_out.append("%");
        return;
    }
    const bool text = spec.type == 's' || spec.type == 'r' || spec.type == 'a' || spec.type == 'c';
    if (zero && !left && !text) {
        spec.fill = "0";
        spec.align = FieldSpec::Align::AfterSign;
    }
    appendConverted(value ? *value : nextArgument(), spec);
}

void PercentFormatter::appendConverted(const Value &value, FieldSpec spec)
{
    switch (spec.type) {
    case 's':
    case 'r':
    case 'a': {
        TextBuilder text(m_meter);
        if (spec.type == 's')
            appendText(m_meter, text, value);
        else if (spec.type == 'r')
            appendRepr(m_meter, text, value);
        else
            appendAsciiRepr(m_meter, text, value);
        spec.type = 's';
        TextPtr finished = text.finish();
        if (m_text.markup && !(value.isText() && value.text().markup))
            finished = escaped(m_meter, *finished);
        appendField(m_meter, m_out, Value(std::move(finished)), spec);
        return;
    }
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X': {
        requireDefined(value);
        const bool hex = spec.type == 'x' || spec.type == 'X' || spec.type == 'o';
        if (!value.isNumber() || (hex && !value.isInteger()))
            fail(std::string("'%") + spec.type + "' needs a number, not '" + std::string(typeName(value)) +
                 "'");
        if (value.is<double>() && !(std::fabs(value.as<double>()) < 0x1p63))
            fail("the number is beyond the bound of 64-bit integers");
        if (!hex)
            spec.type = 'd';
        const std::int64_t integer =
            value.is<double>() ? static_cast<std::int64_t>(value.as<double>()) : value.integer();
        spec.digits = std::exchange(spec.precision, -1);
        appendField(m_meter, m_out, Value(integer), spec);
        return;
    }
    case 'c':
        if (value.isText()) {
            if (lengthOf(m_meter, value.text()) != 1)
                fail("'%c' needs one character");
            spec.type = 's';
            spec.precision = -1;
        }
        appendField(m_meter, m_out, value, spec);
        return;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
        if (!value.isNumber())
            fail(std::string("'%") + spec.type + "' needs a number, not '" + std::string(typeName(value)) +
                 "'");
        appendField(m_meter, m_out, Value(value.real()), spec);
        return;
    default:
        fail(std::string("'%") + spec.type + "' is no known format");
    }
}

TextPtr PercentFormatter::run()
{
    std::size_t kept = 0;
    while (true) {
        const std::size_t percent = m_text.bytes.find('%', kept);
        if (percent == std::string::npos)
            break;
        m_meter.step();
        m_out.append(m_text, kept, percent);
        m_at = percent + 1;
        readField();
        kept = m_at;
    }
    m_out.append(m_text, kept, m_text.bytes.size());
    const bool left = m_tuple ? m_used < m_tuple->items.size() : m_used == 0 && !m_named;
    const bool mapping = m_arguments.is<DictionaryPtr>() || (m_arguments.is<SequencePtr>() && !m_tuple);
    if (left && !mapping)
        fail("not all arguments of the format string are used");
    return m_out.finish(m_text.markup);
}

} // namespace

Value percentFormat(Meter &meter, const Text &text, const Value &arguments)
{
    return PercentFormatter(meter, text, arguments).run();
}

} // namespace tokenloupe::jinja
