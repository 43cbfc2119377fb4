// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/evaluatorguards.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/functions.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/methods.h"
#include "engine/chat/jinja/operations.h"

#include <algorithm>

namespace tokenloupe::jinja {

namespace {

constexpr std::string_view callerName = "caller";

} // namespace

Value Evaluator::evaluateCall(const Expression &expression, Macro *caller)
{
    const Value callee = evaluate(*expression.operands[0]);
    Arguments arguments = evaluateArguments(expression.arguments.get());
    if (caller)
        arguments.named.emplace_back(makeText(std::string(callerName)), caller);
    m_line = expression.line;
    return call(callee, arguments);
}

Value Evaluator::call(const Value &callee, const Arguments &arguments)
{
    const Meter::Level level(m_meter);
    m_meter.step();
    requireDefined(callee);
    if (const auto *macro = callee.tryAs<Macro *>())
        return callMacro(**macro, arguments);
    if (const auto *loop = callee.tryAs<Loop *>())
        return callLoop(**loop, arguments);
    if (const auto method = objectAs<MethodObject>(callee, Object::Type::Method))
        return method->entry->function(*this, method->self, arguments);
    if (const auto function = objectAs<FunctionObject>(callee, Object::Type::Function))
        return function->entry->function(*this, arguments);
    if (const auto joiner = objectAs<JoinerObject>(callee, Object::Type::Joiner)) {
        const Bound bound("joiner", arguments, {});
        return std::exchange(joiner->used, true) ? joiner->separator : emptyText();
    }
    fail("'" + std::string(typeName(callee)) + "' cannot be called");
}

Macro *Evaluator::makeMacro(const MacroDefinition &definition)
{
    m_meter.step();
    ScopePool::capture(m_scope);
    return &m_macros.emplace_back(Macro{&definition, m_scope});
}

TextPtr Evaluator::callMacro(const Macro &macro, const Arguments &arguments)
{
    const std::uint32_t line = m_line;
    OutputGuard output(*this);
    const ScopeGuard scope(*this, macro.scope);
    bindMacro(macro, arguments);
    execute(macro.definition->body);
    m_line = line;
    return output.finish();
}

void Evaluator::bindMacro(const Macro &macro, const Arguments &arguments)
{
    const MacroDefinition &definition = *macro.definition;
    const std::string name = definition.name ? definition.name->bytes : "caller";
    std::vector<bool> used(arguments.named.size(), false);
    const auto named = [&](std::string_view wanted) -> const Value * {
        m_meter.step(arguments.named.size() / 8);
        for (std::size_t i = 0; i < arguments.named.size(); ++i) {
            if (!used[i] && arguments.named[i].first->bytes == wanted) {
                used[i] = true;
                return &arguments.named[i].second;
            }
        }
        return nullptr;
    };
    const std::size_t positional = std::min(arguments.positional.size(), definition.parameters.size());
    for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
        const MacroDefinition::Parameter &parameter = definition.parameters[i];
        const Value *value = i < positional ? &arguments.positional[i] : named(parameter.name->bytes);
        Value bound;
        if (value)
            bound = *value;
        else if (parameter.fallback)
            bound = evaluate(*parameter.fallback);
        else
            bound = undefinedBecause("parameter '" + parameter.name->bytes + "' was not provided");
        m_scope->set(m_meter, parameter.symbol, std::move(bound));
    }
    if (definition.usesCaller && !definition.namesCaller) {
        const Value *caller = named(callerName);
        m_scope->set(m_meter, m_program.known.caller,
                     caller ? *caller : Value(undefinedBecause("no caller defined")));
    }
    if (definition.usesKwargs) {
        auto rest = std::make_shared<Dictionary>();
        for (std::size_t i = 0; i < arguments.named.size(); ++i) {
            if (!used[i])
                rest->insert(m_meter, arguments.named[i].first, arguments.named[i].second);
        }
        m_scope->set(m_meter, m_program.known.kwargs, DictionaryPtr(std::move(rest)));
    } else if (const auto unknown = std::find(used.begin(), used.end(), false); unknown != used.end()) {
        fail("macro '" + name + "' takes no argument named '" +
             arguments.named[static_cast<std::size_t>(unknown - used.begin())].first->bytes + "'");
    }
    if (definition.usesVarargs) {
        std::vector<Value> rest(arguments.positional.begin() + static_cast<std::ptrdiff_t>(positional),
                                arguments.positional.end());
        m_scope->set(m_meter, m_program.known.varargs, makeTuple(m_meter, std::move(rest)));
    } else if (arguments.positional.size() > positional) {
        fail("macro '" + name + "' takes at most " + std::to_string(definition.parameters.size()) +
             " arguments, not " + std::to_string(arguments.positional.size()));
    }
}

TextPtr Evaluator::callLoop(const Loop &loop, const Arguments &arguments)
{
    const Bound bound("loop", arguments, {"iterable"}, 1);
    if (!loop.statement)
        fail("the loop is not 'recursive', so it cannot be called");
    OutputGuard output(*this);
    const ScopeGuard scope(*this, loop.scope);
    ScopePool::capture(m_scope);
    runLoop(*loop.statement, *bound[0], loop.depth + 1);
    return output.finish();
}

} // namespace tokenloupe::jinja
