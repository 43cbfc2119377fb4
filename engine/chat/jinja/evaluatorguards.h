// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/evaluator.h"

namespace tokenloupe::jinja {

/// A new innermost scope, for as long as it lives.
class Evaluator::ScopeGuard
{
public:
    ScopeGuard(Evaluator &evaluator, Scope *parent)
        : m_evaluator(evaluator)
        , m_previous(evaluator.m_scope)
        , m_own(evaluator.m_scopes.acquire(parent))
    {
        evaluator.m_scope = m_own;
    }
    explicit ScopeGuard(Evaluator &evaluator)
        : ScopeGuard(evaluator, evaluator.m_scope)
    {}
    ~ScopeGuard()
    {
        m_evaluator.m_scope = m_previous;
        m_evaluator.m_scopes.release(m_own);
    }
    ScopeGuard(const ScopeGuard &) = delete;
    ScopeGuard &operator=(const ScopeGuard &) = delete;

private:
    Evaluator &m_evaluator;
    Scope *m_previous;
    Scope *m_own;
};

/// Output goes to a text of its own, for as long as it lives.
class Evaluator::OutputGuard
{
public:
    explicit OutputGuard(Evaluator &evaluator)
        : m_evaluator(evaluator)
        , m_previous(evaluator.m_out)
        , m_builder(evaluator.m_meter)
    {
        evaluator.m_out = &m_builder;
    }
    ~OutputGuard() { m_evaluator.m_out = m_previous; }
    OutputGuard(const OutputGuard &) = delete;
    OutputGuard &operator=(const OutputGuard &) = delete;

    TextPtr finish() { return m_builder.finish(); }

private:
    Evaluator &m_evaluator;
    TextBuilder *m_previous;
    TextBuilder m_builder;
};

} // namespace tokenloupe::jinja
