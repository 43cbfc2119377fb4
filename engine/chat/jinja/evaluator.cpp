// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/evaluator.h"

#include "engine/chat/jinja/evaluatorguards.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/functions.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/printing.h"

#include <algorithm>

namespace tokenloupe::jinja {

Evaluator::Evaluator(const Program &program, Meter &meter, const Calendar &now)
    : m_program(program)
    , m_meter(meter)
    , m_now(now)
    , m_scope(m_scopes.acquire(nullptr))
{
    for (const FunctionEntry &function : globalFunctions())
        define(function.name, Value(ObjectPtr(std::make_shared<FunctionObject>(function))));
    // Variables of the caller stand above the functions, and what the template sets above both.
    m_scope = m_scopes.acquire(m_scope);
}

void Evaluator::define(std::string_view name, Value value)
{
    const auto found = std::find(m_program.names.begin(), m_program.names.end(), name);
    if (found != m_program.names.end())
        m_scope->set(m_meter, static_cast<Symbol>(found - m_program.names.begin()), std::move(value));
}

TextPtr Evaluator::run()
{
    const ScopeGuard scope(*this);
    OutputGuard output(*this);
    execute(m_program.body);
    return output.finish();
}

Namespace *Evaluator::makeNamespace()
{
    m_meter.step();
    return &m_namespaces.emplace_back();
}

void Evaluator::emit(const Value &value)
{
    appendText(m_meter, *m_out, value);
}

Evaluator::Flow Evaluator::execute(const Block &block)
{
    const Meter::Level level(m_meter);
    for (const StatementPtr &statement : block) {
        if (const Flow flow = execute(*statement); flow != Flow::Next)
            return flow;
    }
    return Flow::Next;
}

Evaluator::Flow Evaluator::execute(const Statement &statement)
{
    m_meter.step();
    m_line = statement.line;
    switch (statement.kind) {
    case StatementKind::Text:
        m_out->append(*statement.text);
        return Flow::Next;
    case StatementKind::Output:
        emit(evaluate(*statement.expression));
        return Flow::Next;
    case StatementKind::If:
        return executeIf(statement);
    case StatementKind::For:
        executeFor(statement);
        return Flow::Next;
    case StatementKind::Set:
        assign(statement.targets.front(), evaluate(*statement.expression));
        return Flow::Next;
    case StatementKind::SetBlock:
        return executeSetBlock(statement);
    case StatementKind::With:
        return executeWith(statement);
    case StatementKind::Macro:
        m_scope->set(m_meter, statement.symbol, makeMacro(*statement.definition));
        return Flow::Next;
    case StatementKind::CallBlock:
        executeCallBlock(statement);
        return Flow::Next;
    case StatementKind::FilterBlock:
        return executeFilterBlock(statement);
    case StatementKind::Scoped:
        return executeScoped(statement);
    case StatementKind::Break:
        return Flow::Break;
    case StatementKind::Continue:
        return Flow::Continue;
    }
    return Flow::Next;
}

Evaluator::Flow Evaluator::executeIf(const Statement &statement)
{
    for (const Statement::Branch &branch : statement.branches) {
        if (isTrue(evaluate(*branch.condition)))
            return execute(branch.body);
    }
    return execute(statement.otherwise);
}

void Evaluator::executeFor(const Statement &statement)
{
    const Value iterable = evaluate(*statement.expression);
    if (statement.recursive)
        ScopePool::capture(m_scope);
    runLoop(statement, iterable, 0);
}

SequencePtr Evaluator::filtered(const Statement &statement, const SequencePtr &items)
{
    if (!statement.condition)
        return items;
    std::vector<Value> kept;
    for (const Value &value : items->items) {
        m_meter.step();
        const ScopeGuard scope(*this);
        assign(statement.targets.front(), value);
        if (isTrue(evaluate(*statement.condition)))
            kept.push_back(value);
    }
    return makeList(m_meter, std::move(kept));
}

void Evaluator::runLoop(const Statement &statement, const Value &iterable, std::size_t depth)
{
    const SequencePtr items = filtered(statement, iterate(m_meter, iterable));
    m_meter.step();
    Loop &loop = m_loops.emplace_back();
    loop.items = items;
    loop.depth = depth;
    if (statement.recursive) {
        loop.statement = &statement;
        loop.scope = m_scope;
    }
    for (; loop.index < items->items.size(); ++loop.index) {
        m_meter.step();
        const ScopeGuard scope(*this);
        assign(statement.targets.front(), items->items[loop.index]);
        m_scope->set(m_meter, m_program.known.loop, &loop);
        if (execute(statement.body) == Flow::Break)
            break;
    }
    if (items->items.empty()) {
        const ScopeGuard scope(*this);
        execute(statement.otherwise);
    }
}

Evaluator::Flow Evaluator::executeSetBlock(const Statement &statement)
{
    Value value;
    Flow flow = Flow::Next;
    {
        OutputGuard output(*this);
        const ScopeGuard scope(*this);
        flow = execute(statement.body);
        value = output.finish();
    }
    if (flow != Flow::Next)
        return flow;
    if (statement.expression)
        value = evaluateFilter(*statement.expression, &value);
    assign(statement.targets.front(), value);
    return Flow::Next;
}

Evaluator::Flow Evaluator::executeWith(const Statement &statement)
{
    std::vector<Value> values;
    for (const ExpressionPtr &expression : statement.values)
        values.push_back(evaluate(*expression));
    const ScopeGuard scope(*this);
    for (std::size_t i = 0; i < values.size(); ++i)
        assign(statement.targets[i], values[i]);
    return execute(statement.body);
}

void Evaluator::executeCallBlock(const Statement &statement)
{
    Macro *caller = makeMacro(*statement.definition);
    emit(evaluateCall(*statement.expression, caller));
}

Evaluator::Flow Evaluator::executeFilterBlock(const Statement &statement)
{
    Value value;
    {
        OutputGuard output(*this);
        const ScopeGuard scope(*this);
        if (const Flow flow = execute(statement.body); flow != Flow::Next)
            return flow;
        value = output.finish();
    }
    emit(evaluateFilter(*statement.expression, &value));
    return Flow::Next;
}

Evaluator::Flow Evaluator::executeScoped(const Statement &statement)
{
    const ScopeGuard scope(*this);
    return execute(statement.body);
}

void Evaluator::assign(const Target &target, const Value &value)
{
    switch (target.kind) {
    case Target::Kind::Name:
        m_scope->set(m_meter, target.symbol, value);
        return;
    case Target::Kind::Member: {
        const Value *space = nullptr;
        for (const Scope *scope = m_scope; scope && !space; scope = scope->parent)
            space = scope->find(m_meter, target.symbol);
        if (!space || !space->is<Namespace *>())
            fail("'" + m_program.names[target.symbol] + "." + target.member->bytes +
                 "' cannot be set: expected a namespace");
        space->as<Namespace *>()->set(m_meter, target.member, value);
        return;
    }
    case Target::Kind::Tuple:
        break;
    }
    requireDefined(value);
    const SequencePtr parts = iterate(m_meter, value);
    if (parts->items.size() != target.parts.size())
        fail("expected " + std::to_string(target.parts.size()) + " values to unpack, found " +
             std::to_string(parts->items.size()));
    for (std::size_t i = 0; i < target.parts.size(); ++i)
        assign(target.parts[i], parts->items[i]);
}

} // namespace tokenloupe::jinja
