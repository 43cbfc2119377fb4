// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/filters.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/printing.h"
#include "engine/chat/jinja/textedit.h"
#include "engine/chat/jinja/valuetests.h"

namespace tokenloupe::jinja {

Value Evaluator::evaluate(const Expression &expression)
{
    const Meter::Level level(m_meter);
    m_meter.step();
    if (expression.kind != ExpressionKind::Constant)
        m_line = expression.line;
    switch (expression.kind) {
    case ExpressionKind::Constant:
        return expression.constant;
    case ExpressionKind::Name:
        return evaluateName(expression);
    case ExpressionKind::Attribute:
        return attribute(evaluate(*expression.operands[0]), expression.text);
    case ExpressionKind::Item:
        return evaluateItem(expression);
    case ExpressionKind::Slice:
        return evaluateSlice(expression);
    case ExpressionKind::Call:
        return evaluateCall(expression, nullptr);
    case ExpressionKind::Filter:
        return evaluateFilter(expression, nullptr);
    case ExpressionKind::Test:
        return evaluateTest(expression);
    case ExpressionKind::Unary:
        return unary(expression.operations[0], evaluate(*expression.operands[0]));
    case ExpressionKind::Binary:
        return evaluateBinary(expression);
    case ExpressionKind::Compare:
        return evaluateCompare(expression);
    case ExpressionKind::And:
    case ExpressionKind::Or:
        return evaluateLogical(expression);
    case ExpressionKind::Not:
        return !isTrue(evaluate(*expression.operands[0]));
    case ExpressionKind::Concat:
        return evaluateConcat(expression);
    case ExpressionKind::Conditional:
        return evaluateConditional(expression);
    case ExpressionKind::List:
    case ExpressionKind::Tuple:
        return evaluateSequence(expression);
    case ExpressionKind::Dict:
        return evaluateDict(expression);
    }
    return Value();
}

Value Evaluator::evaluateName(const Expression &expression)
{
    for (const Scope *scope = m_scope; scope; scope = scope->parent) {
        if (const Value *value = scope->find(m_meter, expression.symbol))
            return *value;
    }
    return undefinedNamed(m_program.names[expression.symbol]);
}

Value Evaluator::evaluateItem(const Expression &expression)
{
    const Value object = evaluate(*expression.operands[0]);
    const Value key = evaluate(*expression.operands[1]);
    return item(object, key);
}

Value Evaluator::evaluateSlice(const Expression &expression)
{
    const Value object = evaluate(*expression.operands[0]);
    Value bounds[3];
    for (std::size_t i = 0; i < 3; ++i) {
        if (expression.operands[i + 1])
            bounds[i] = evaluate(*expression.operands[i + 1]);
    }
    requireDefined(object);
    if (object.isText())
        return slice(m_meter, object.text(), bounds[0], bounds[1], bounds[2]);
    if (const auto range = objectAs<RangeObject>(object, Object::Type::Range)) {
        const SliceRange part = resolveSlice(range->count, bounds[0], bounds[1], bounds[2]);
        const std::int64_t start = range->start + part.start * range->step;
        // The step only counts where there is more than one number.
        const std::int64_t step = part.count > 1 ? range->step * part.step : 1;
        return ObjectPtr(std::make_shared<RangeObject>(start, start + step * part.count, step, part.count));
    }
    const auto *sequence = object.tryAs<SequencePtr>();
    if (!sequence)
        fail("'" + std::string(typeName(object)) + "' cannot be sliced");
    const auto &items = (*sequence)->items;
    const SliceRange part =
        resolveSlice(static_cast<std::int64_t>(items.size()), bounds[0], bounds[1], bounds[2]);
    std::vector<Value> kept;
    m_meter.step(static_cast<std::size_t>(part.count));
    kept.reserve(static_cast<std::size_t>(part.count));
    std::int64_t index = part.start;
    for (std::int64_t i = 0; i < part.count; ++i) {
        kept.push_back(items[static_cast<std::size_t>(index)]);
        if (i + 1 < part.count)
            index += part.step;
    }
    const bool list = (*sequence)->kind == Sequence::Kind::List;
    return list ? makeList(m_meter, std::move(kept)) : makeTuple(m_meter, std::move(kept));
}

Arguments Evaluator::evaluateArguments(const ArgumentList *list)
{
    Arguments arguments;
    if (!list)
        return arguments;
    arguments.positional.reserve(list->positional.size());
    for (const ExpressionPtr &expression : list->positional)
        arguments.positional.push_back(evaluate(*expression));
    if (list->spread) {
        const Value spread = evaluate(*list->spread);
        requireDefined(spread);
        const SequencePtr items = iterate(m_meter, spread);
        m_meter.step(items->items.size());
        arguments.positional.insert(arguments.positional.end(), items->items.begin(), items->items.end());
    }
    for (const auto &[name, expression] : list->named)
        arguments.named.emplace_back(name, evaluate(*expression));
    if (list->namedSpread) {
        const Value spread = evaluate(*list->namedSpread);
        requireDefined(spread);
        const auto *dictionary = spread.tryAs<DictionaryPtr>();
        if (!dictionary)
            fail("expected a dict behind '**', found '" + std::string(typeName(spread)) + "'");
        m_meter.step((*dictionary)->size());
        for (const auto &[key, value] : (*dictionary)->entries()) {
            if (!key.isText())
                fail("expected names as keys of the dict behind '**'");
            arguments.named.emplace_back(key.as<TextPtr>(), value);
        }
    }
    return arguments;
}

Value Evaluator::evaluateFilter(const Expression &expression, const Value *input)
{
    Value value;
    if (!expression.operands[0])
        value = *input;
    else if (input && expression.operands[0]->kind == ExpressionKind::Filter)
        value = evaluateFilter(*expression.operands[0], input); // of a block, whose text is the first input
    else
        value = evaluate(*expression.operands[0]);
    m_meter.step();
    const Arguments arguments = evaluateArguments(expression.arguments.get());
    m_line = expression.line;
    if (!expression.filter)
        fail("there is no filter named '" + expression.text->bytes + "'");
    return expression.filter->function(*this, value, arguments);
}

bool Evaluator::evaluateTest(const Expression &expression)
{
    const Value value = evaluate(*expression.operands[0]);
    const Arguments arguments = evaluateArguments(expression.arguments.get());
    m_line = expression.line;
    if (!expression.test)
        fail("there is no test named '" + expression.text->bytes + "'");
    return expression.test->function(*this, value, arguments);
}

Value Evaluator::evaluateBinary(const Expression &expression)
{
    Value left = evaluate(*expression.operands[0]);
    for (std::size_t i = 0; i < expression.operations.size(); ++i) {
        const Value right = evaluate(*expression.operands[i + 1]);
        m_meter.step();
        left = binary(m_meter, expression.operations[i], left, right);
    }
    return left;
}

bool Evaluator::evaluateCompare(const Expression &expression)
{
    Value left = evaluate(*expression.operands[0]);
    for (std::size_t i = 0; i < expression.comparisons.size(); ++i) {
        Value right = evaluate(*expression.operands[i + 1]);
        if (!compare(m_meter, expression.comparisons[i], left, right))
            return false;
        left = std::move(right);
    }
    return true;
}

Value Evaluator::evaluateLogical(const Expression &expression)
{
    const bool stopsAt = expression.kind == ExpressionKind::Or;
    Value value;
    for (const ExpressionPtr &operand : expression.operands) {
        value = evaluate(*operand);
        if (isTrue(value) == stopsAt)
            break;
    }
    return value;
}

Value Evaluator::evaluateConcat(const Expression &expression)
{
    TextBuilder builder(m_meter);
    for (const ExpressionPtr &operand : expression.operands)
        appendText(m_meter, builder, evaluate(*operand));
    return builder.finish();
}

Value Evaluator::evaluateConditional(const Expression &expression)
{
    if (isTrue(evaluate(*expression.operands[0])))
        return evaluate(*expression.operands[1]);
    if (expression.operands[2])
        return evaluate(*expression.operands[2]);
    return undefinedBecause("the inline if on line " + std::to_string(expression.line) +
                            " evaluated to false and has no else");
}

Value Evaluator::evaluateSequence(const Expression &expression)
{
    std::vector<Value> items;
    items.reserve(expression.operands.size());
    for (const ExpressionPtr &operand : expression.operands)
        items.push_back(evaluate(*operand));
    if (expression.kind == ExpressionKind::List)
        return makeList(m_meter, std::move(items));
    return makeTuple(m_meter, std::move(items));
}

Value Evaluator::evaluateDict(const Expression &expression)
{
    auto dictionary = std::make_shared<Dictionary>();
    for (std::size_t i = 0; i + 1 < expression.operands.size(); i += 2) {
        Value key = evaluate(*expression.operands[i]);
        Value value = evaluate(*expression.operands[i + 1]);
        dictionary->insert(m_meter, std::move(key), std::move(value));
    }
    return DictionaryPtr(std::move(dictionary));
}

} // namespace tokenloupe::jinja
