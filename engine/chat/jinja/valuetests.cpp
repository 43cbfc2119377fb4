// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/valuetests.h"

#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/filters.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/methods.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/printing.h"

#include <algorithm>
#include <array>

namespace tokenloupe::jinja {

namespace {

using Test = bool (*)(const Value &);

/// A test without arguments.
template <Test test>
bool plain(Evaluator &, const Value &input, const Arguments &arguments)
{
    const Bound bound("the test", arguments, {});
    return test(input);
}

template <Comparison comparison>
bool comparing(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("the test", arguments, {"other"}, 1);
    return compare(evaluator.meter(), comparison, input, *bound[0]);
}

std::int64_t remainder(Evaluator &evaluator, const Value &input, const Value &divisor)
{
    const Value result = binary(evaluator.meter(), Operator::Modulo, input, divisor);
    return result.isNumber() && result.real() == 0 ? 0 : 1;
}

bool isDivisibleBy(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("divisibleby", arguments, {"num"}, 1);
    return remainder(evaluator, input, *bound[0]) == 0;
}

bool isEven(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("even", arguments, {});
    return remainder(evaluator, input, Value(std::int64_t{2})) == 0;
}

bool isOdd(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("odd", arguments, {});
    const Value result = binary(evaluator.meter(), Operator::Modulo, input, Value(std::int64_t{2}));
    return result.isNumber() && result.real() == 1;
}

bool isSameAs(Evaluator &, const Value &input, const Arguments &arguments)
{
    const Bound bound("sameas", arguments, {"other"}, 1);
    return areSame(input, *bound[0]);
}

/// isupper or islower of what the value prints as.
template <char target>
bool isCase(Evaluator &evaluator, const Value &input, const Arguments &arguments)
{
    const Bound bound("the test", arguments, {});
    const Value text = toText(evaluator.meter(), input);
    const MethodEntry *method = findMethod(text, target == 'u' ? "isupper" : "islower");
    return isTrue(method->function(evaluator, text, {}));
}

bool isCallable(const Value &value)
{
    if (value.isUndefined() || value.is<Macro *>() || value.is<Loop *>())
        return true; // Jinja counts undefined in: it has a method that fails
    const auto *object = value.tryAs<ObjectPtr>();
    return object && ((*object)->type == Object::Type::Method || (*object)->type == Object::Type::Function ||
                      (*object)->type == Object::Type::Joiner);
}

bool isSequence(const Value &value)
{
    return value.isUndefined() || value.isText() || value.is<SequencePtr>() || value.is<DictionaryPtr>() ||
           objectAs<RangeObject>(value, Object::Type::Range);
}

constexpr std::array<TestEntry, 39> tests{{
    {"defined", plain<[](const Value &v) { return !v.isUndefined(); }>},
    {"undefined", plain<[](const Value &v) { return v.isUndefined(); }>},
    {"none", plain<[](const Value &v) { return v.isNone(); }>},
    {"boolean", plain<[](const Value &v) { return v.is<bool>(); }>},
    {"true", plain<[](const Value &v) { return v.is<bool>() && v.as<bool>(); }>},
    {"false", plain<[](const Value &v) { return v.is<bool>() && !v.as<bool>(); }>},
    {"integer", plain<[](const Value &v) { return v.is<std::int64_t>(); }>},
    {"float", plain<[](const Value &v) { return v.is<double>(); }>},
    {"number", plain<[](const Value &v) { return v.isNumber(); }>},
    {"string", plain<[](const Value &v) { return v.isText(); }>},
    {"mapping", plain<[](const Value &v) { return v.is<DictionaryPtr>(); }>},
    {"sequence", plain<isSequence>},
    {"iterable", plain<isIterable>},
    {"callable", plain<isCallable>},
    {"escaped", plain<[](const Value &v) { return v.isText() && v.text().markup; }>},
    {"filter", plain<[](const Value &v) { return v.isText() && findFilter(v.text().bytes); }>},
    {"test", plain<[](const Value &v) { return v.isText() && findTest(v.text().bytes); }>},
    {"odd", isOdd},
    {"even", isEven},
    {"divisibleby", isDivisibleBy},
    {"lower", isCase<'l'>},
    {"upper", isCase<'u'>},
    {"sameas", isSameAs},
    {"in", comparing<Comparison::In>},
    {"==", comparing<Comparison::Equal>},
    {"eq", comparing<Comparison::Equal>},
    {"equalto", comparing<Comparison::Equal>},
    {"!=", comparing<Comparison::NotEqual>},
    {"ne", comparing<Comparison::NotEqual>},
    {">", comparing<Comparison::Greater>},
    {"gt", comparing<Comparison::Greater>},
    {"greaterthan", comparing<Comparison::Greater>},
    {"ge", comparing<Comparison::GreaterEqual>},
    {">=", comparing<Comparison::GreaterEqual>},
    {"<", comparing<Comparison::Less>},
    {"lt", comparing<Comparison::Less>},
    {"lessthan", comparing<Comparison::Less>},
    {"le", comparing<Comparison::LessEqual>},
    {"<=", comparing<Comparison::LessEqual>},
}};

} // namespace

const TestEntry *findTest(std::string_view name)
{
    const auto found = std::find_if(tests.begin(), tests.end(),
                                    [name](const TestEntry &entry) { return entry.name == name; });
    return found == tests.end() ? nullptr : &*found;
}

} // namespace tokenloupe::jinja
