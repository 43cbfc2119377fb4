// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/arguments.h"

#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/operations.h"

#include <algorithm>

namespace tokenloupe::jinja {

Bound::Bound(std::string_view function, const Arguments &arguments,
             std::initializer_list<std::string_view> parameters, std::size_t required)
    : m_function(function)
{
    std::copy(parameters.begin(), parameters.end(), m_names.begin());
    const std::string name(function);
    if (arguments.positional.size() > parameters.size())
        fail(name + "() takes at most " + std::to_string(parameters.size()) + " arguments, not " +
             std::to_string(arguments.positional.size()));
    for (std::size_t i = 0; i < arguments.positional.size(); ++i)
        m_values[i] = &arguments.positional[i];
    for (const auto &[key, value] : arguments.named) {
        const auto found = std::find(parameters.begin(), parameters.end(), std::string_view(key->bytes));
        if (found == parameters.end())
            fail(name + "() has no argument '" + key->bytes + "'");
        const auto index = static_cast<std::size_t>(found - parameters.begin());
        if (m_values[index])
            fail(name + "() is given '" + key->bytes + "' twice");
        m_values[index] = &value;
    }
    for (std::size_t i = 0; i < required; ++i) {
        if (!m_values[i])
            fail(name + "() needs the argument '" + std::string(m_names[i]) + "'");
    }
}

const TextPtr *Bound::text(std::size_t index) const
{
    if (!m_values[index] || m_values[index]->isNone())
        return nullptr;
    if (!m_values[index]->isText())
        failType(index, "a string");
    return &m_values[index]->as<TextPtr>();
}

std::int64_t Bound::integer(std::size_t index, std::int64_t otherwise) const
{
    if (!m_values[index])
        return otherwise;
    if (!m_values[index]->isInteger())
        failType(index, "a whole number");
    return m_values[index]->integer();
}

bool Bound::isSet(std::size_t index) const
{
    return m_values[index] && isTrue(*m_values[index]);
}

void Bound::failType(std::size_t index, std::string_view expected) const
{
    requireDefined(*m_values[index]);
    fail(std::string(m_function) + "() expects " + std::string(expected) + " as '" +
         std::string(m_names[index]) + "', not '" + std::string(typeName(*m_values[index])) + "'");
}

} // namespace tokenloupe::jinja
