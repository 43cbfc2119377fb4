// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/attributegetter.h"

#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/literals.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/textedit.h"

namespace tokenloupe::jinja {

AttributeGetter::AttributeGetter(Evaluator &evaluator, const Value *attribute, const Value *otherwise)
    : m_evaluator(evaluator)
    , m_otherwise(otherwise && !otherwise->isNone() ? otherwise : nullptr)
{
    if (!attribute || attribute->isNone())
        return;
    if (!attribute->isText()) {
        m_parts.push_back(*attribute);
        return;
    }
    for (const Value &part :
         split(evaluator.meter(), attribute->text(), makeText(".").get(), -1, Side::Left)) {
        const std::string &bytes = part.text().bytes;
        std::int64_t index = 0;
        const bool number = !bytes.empty() && bytes.find_first_not_of("0123456789") == std::string::npos &&
                            integerOfText(bytes, 10, index) == IntegerText::Good;
        m_parts.push_back(number ? Value(index) : part);
    }
}

Value AttributeGetter::get(const Value &item) const
{
    m_evaluator.meter().step();
    Value value = item;
    for (const Value &part : m_parts) {
        value = m_evaluator.item(value, part);
        if (m_otherwise && value.isUndefined())
            value = *m_otherwise;
    }
    return value;
}

Value AttributeGetter::key(const Value &item, KeyCase keyCase) const
{
    Value value = get(item);
    if (keyCase == KeyCase::Folded && value.isText())
        return changeCase(m_evaluator.meter(), value.text(), Case::Lower);
    return value;
}

} // namespace tokenloupe::jinja
