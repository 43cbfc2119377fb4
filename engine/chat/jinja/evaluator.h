// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/arguments.h"
#include "engine/chat/jinja/ast.h"
#include "engine/chat/jinja/calendar.h"
#include "engine/chat/jinja/objects.h"
#include "engine/chat/jinja/scope.h"
#include "engine/chat/jinja/text.h"

#include <deque>
#include <optional>
#include <string_view>

namespace tokenloupe::jinja {

class Meter;

/// Runs a program once over its variables. Reaches nothing but them and the built-in functions. Throws a
/// Failure; line() then tells where.
class Evaluator
{
public:
    Evaluator(const Program &program, Meter &meter, const Calendar &now);
    Evaluator(const Evaluator &) = delete;
    Evaluator &operator=(const Evaluator &) = delete;

    /// A variable of the template; a name that the program does not use is dropped.
    void define(std::string_view name, Value value);
    TextPtr run();
    std::uint32_t line() const { return m_line; }

    // For filters, tests, methods and functions.
    Meter &meter() { return m_meter; }
    const Calendar &now() const { return m_now; }
    /// object.name and object[key], undefined where there is none.
    Value attribute(const Value &object, const TextPtr &name);
    Value item(const Value &object, const Value &key);
    Value call(const Value &callee, const Arguments &arguments);
    Namespace *makeNamespace();

private:
    enum class Flow { Next, Break, Continue };
    class ScopeGuard;
    class OutputGuard;

    // Expressions.
    Value evaluate(const Expression &expression);
    Value evaluateName(const Expression &expression);
    Value evaluateItem(const Expression &expression);
    Value evaluateSlice(const Expression &expression);
    Value evaluateCall(const Expression &expression, Macro *caller);
    Value evaluateFilter(const Expression &expression, const Value *input);
    bool evaluateTest(const Expression &expression);
    Value evaluateBinary(const Expression &expression);
    bool evaluateCompare(const Expression &expression);
    Value evaluateLogical(const Expression &expression);
    Value evaluateConcat(const Expression &expression);
    Value evaluateConditional(const Expression &expression);
    Value evaluateSequence(const Expression &expression);
    Value evaluateDict(const Expression &expression);
    Arguments evaluateArguments(const ArgumentList *list);

    // Statements.
    Flow execute(const Block &block);
    Flow execute(const Statement &statement);
    Flow executeIf(const Statement &statement);
    void executeFor(const Statement &statement);
    void runLoop(const Statement &statement, const Value &iterable, std::size_t depth);
    SequencePtr filtered(const Statement &statement, const SequencePtr &items);
    Flow executeSetBlock(const Statement &statement);
    Flow executeWith(const Statement &statement);
    void executeCallBlock(const Statement &statement);
    Flow executeFilterBlock(const Statement &statement);
    Flow executeScoped(const Statement &statement);
    void assign(const Target &target, const Value &value);

    // Calls.
    Macro *makeMacro(const MacroDefinition &definition);
    TextPtr callMacro(const Macro &macro, const Arguments &arguments);
    void bindMacro(const Macro &macro, const Arguments &arguments);
    TextPtr callLoop(const Loop &loop, const Arguments &arguments);
    void emit(const Value &value);

    const Program &m_program;
    Meter &m_meter;
    Calendar m_now;
    TextBuilder *m_out = nullptr;
    std::uint32_t m_line = 0;
    std::deque<Namespace> m_namespaces;
    std::deque<Macro> m_macros;
    std::deque<Loop> m_loops;
    ScopePool m_scopes;
    Scope *m_scope = nullptr;
};

/// Attributes and methods that values have by themselves: the part of attribute() that knows no keys.
/// Nothing when there is no such attribute.
std::optional<Value> builtinAttribute(Evaluator &evaluator, const Value &object, const TextPtr &name);

} // namespace tokenloupe::jinja
