// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/ast.h"

#include <memory>
#include <utility>
#include <vector>

namespace tokenloupe::jinja {

class Meter;

/// The variables of one block.
class Scope
{
public:
    /// Null when this scope has no such variable.
    const Value *find(Meter &meter, Symbol symbol) const;
    void set(Meter &meter, Symbol symbol, Value value);
    void clear() { m_variables.clear(); }

    Scope *parent = nullptr;
    /// A macro or a recursive loop refers to it: it stays until the rendering ends.
    bool captured = false;

private:
    std::vector<std::pair<Symbol, Value>> m_variables;
};

/// Owns all scopes of a rendering. They and what they hold may refer to each other in circles, so they are
/// freed together at its end; those that nothing captured are used again before.
class ScopePool
{
public:
    Scope *acquire(Scope *parent);
    void release(Scope *scope);
    /// Keeps the scope and those around it.
    static void capture(Scope *scope);

private:
    std::vector<std::unique_ptr<Scope>> m_all;
    std::vector<Scope *> m_free;
};

} // namespace tokenloupe::jinja
