// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/scope.h"

#include "engine/chat/jinja/meter.h"

#include <algorithm>

namespace tokenloupe::jinja {

namespace {

/// Looking through that many variables costs a step.
constexpr std::size_t variablesPerStep = 32;

} // namespace

const Value *Scope::find(Meter &meter, Symbol symbol) const
{
    meter.step(m_variables.size() / variablesPerStep);
    const auto found = std::find_if(m_variables.begin(), m_variables.end(),
                                    [symbol](const auto &variable) { return variable.first == symbol; });
    return found == m_variables.end() ? nullptr : &found->second;
}

void Scope::set(Meter &meter, Symbol symbol, Value value)
{
    meter.step(m_variables.size() / variablesPerStep);
    const auto found = std::find_if(m_variables.begin(), m_variables.end(),
                                    [symbol](const auto &variable) { return variable.first == symbol; });
    if (found == m_variables.end())
        m_variables.emplace_back(symbol, std::move(value));
    else
        found->second = std::move(value);
}

Scope *ScopePool::acquire(Scope *parent)
{
    if (m_free.empty()) {
        m_all.push_back(std::make_unique<Scope>());
        m_free.push_back(m_all.back().get());
    }
    Scope *scope = m_free.back();
    m_free.pop_back();
    scope->parent = parent;
    return scope;
}

void ScopePool::release(Scope *scope)
{
    if (scope->captured)
        return;
    scope->clear();
    m_free.push_back(scope);
}

void ScopePool::capture(Scope *scope)
{
    for (; scope && !scope->captured; scope = scope->parent)
        scope->captured = true;
}

} // namespace tokenloupe::jinja
