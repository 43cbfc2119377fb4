// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/operations.h"
#include "engine/chat/jinja/printing.h"
#include "engine/chat/jinja/stringformat.h"

#include <cmath>
#include <limits>

namespace tokenloupe::jinja {

namespace {

[[noreturn]] void failOverflow()
{
    fail("the result is beyond the bound of 64-bit integers");
}

std::string_view symbolOf(Operator operation)
{
    switch (operation) {
    case Operator::Add:
    case Operator::Plus:
        return "+";
    case Operator::Subtract:
    case Operator::Negate:
        return "-";
    case Operator::Multiply:
        return "*";
    case Operator::Divide:
        return "/";
    case Operator::FloorDivide:
        return "//";
    case Operator::Modulo:
        return "%";
    case Operator::Power:
        return "**";
    }
    return "?";
}

std::int64_t floorQuotient(std::int64_t left, std::int64_t right)
{
    if (right == 0)
        fail("division by zero");
    if (right == -1) {
        if (left == std::numeric_limits<std::int64_t>::min())
            failOverflow();
        return -left;
    }
    const std::int64_t quotient = left / right;
    return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

std::int64_t power(std::int64_t base, std::int64_t exponent)
{
    std::int64_t result = 1;
    while (exponent > 0) {
        if (exponent & 1)
            result = checkedMultiply(result, base);
        exponent >>= 1;
        if (exponent > 0 && (base > 1 || base < -1))
            base = checkedMultiply(base, base);
        else if (exponent > 0)
            base *= base; // of -1, 0 and 1
    }
    return result;
}

Value integerResult(Operator operation, std::int64_t left, std::int64_t right)
{
    std::int64_t result = 0;
    switch (operation) {
    case Operator::Add:
        return checkedAdd(left, right);
    case Operator::Subtract:
        if (__builtin_sub_overflow(left, right, &result))
            failOverflow();
        return result;
    case Operator::Multiply:
        return checkedMultiply(left, right);
    case Operator::Divide:
        if (right == 0)
            fail("division by zero");
        return static_cast<double>(left) / static_cast<double>(right);
    case Operator::FloorDivide:
        return floorQuotient(left, right);
    case Operator::Modulo:
        if (right == -1)
            return std::int64_t{0};
        return left - floorQuotient(left, right) * right;
    default:
        if (right >= 0)
            return power(left, right);
        if (left == 0)
            fail("0 cannot be raised to a negative power");
        return std::pow(static_cast<double>(left), static_cast<double>(right));
    }
}

double floorModulo(double left, double right)
{
    const double remainder = std::fmod(left, right);
    if (remainder == 0)
        return std::copysign(0.0, right);
    return (remainder < 0) != (right < 0) ? remainder + right : remainder;
}

Value realResult(Operator operation, double left, double right)
{
    switch (operation) {
    case Operator::Add:
        return left + right;
    case Operator::Subtract:
        return left - right;
    case Operator::Multiply:
        return left * right;
    case Operator::Divide:
    case Operator::FloorDivide:
    case Operator::Modulo:
        if (right == 0)
            fail("division by zero");
        if (operation == Operator::Divide)
            return left / right;
        if (operation == Operator::Modulo)
            return floorModulo(left, right);
        return std::floor((left - floorModulo(left, right)) / right + 0.5);
    default: {
        if (left == 0 && right < 0)
            fail("0 cannot be raised to a negative power");
        const double result = std::pow(left, right);
        if (std::isnan(result) && !std::isnan(left) && !std::isnan(right))
            fail("the power is not a real number");
        if (std::isinf(result) && !std::isinf(left) && !std::isinf(right))
            fail("the power is too large for a float");
        return result;
    }
    }
}

Value repeated(Meter &meter, const Value &value, std::int64_t count)
{
    if (value.isText())
        return repeat(meter, value.text(), count);
    const Sequence &sequence = *value.as<SequencePtr>();
    std::vector<Value> items;
    if (count > 0 && !sequence.items.empty()) {
        std::size_t total = 0;
        if (__builtin_mul_overflow(static_cast<std::size_t>(count), sequence.items.size(), &total))
            total = std::numeric_limits<std::size_t>::max();
        meter.checkItems(total);
        items.reserve(total);
        for (std::int64_t i = 0; i < count; ++i)
            items.insert(items.end(), sequence.items.begin(), sequence.items.end());
    }
    return makeSequence(meter, sequence.kind, std::move(items));
}

bool isRepeatable(const Value &value)
{
    return value.isText() || value.is<SequencePtr>();
}

Value sum(Meter &meter, const Value &left, const Value &right)
{
    if (left.isText()) {
        // A markup string takes other strings in only escaped.
        if (left.text().markup != right.text().markup) {
            const TextPtr a = left.text().markup ? left.as<TextPtr>() : escaped(meter, left.text());
            const TextPtr b = right.text().markup ? right.as<TextPtr>() : escaped(meter, right.text());
            return concat(meter, *a, *b);
        }
        return concat(meter, left.text(), right.text());
    }
    const Sequence &a = *left.as<SequencePtr>();
    const Sequence &b = *right.as<SequencePtr>();
    std::vector<Value> items;
    meter.checkItems(a.items.size() + b.items.size());
    items.reserve(a.items.size() + b.items.size());
    items.insert(items.end(), a.items.begin(), a.items.end());
    items.insert(items.end(), b.items.begin(), b.items.end());
    return makeSequence(meter, a.kind, std::move(items));
}

bool canAdd(const Value &left, const Value &right)
{
    if (left.isText() && right.isText())
        return true;
    return left.is<SequencePtr>() && right.is<SequencePtr>() &&
           left.as<SequencePtr>()->kind == right.as<SequencePtr>()->kind;
}

} // namespace

std::int64_t checkedAdd(std::int64_t left, std::int64_t right)
{
    std::int64_t result = 0;
    if (__builtin_add_overflow(left, right, &result))
        failOverflow();
    return result;
}

std::int64_t checkedMultiply(std::int64_t left, std::int64_t right)
{
    std::int64_t result = 0;
    if (__builtin_mul_overflow(left, right, &result))
        failOverflow();
    return result;
}

Value binary(Meter &meter, Operator operation, const Value &left, const Value &right)
{
    if (operation == Operator::Modulo && left.isText())
        return percentFormat(meter, left.text(), right);
    requireDefined(left);
    requireDefined(right);
    if (left.isInteger() && right.isInteger())
        return integerResult(operation, left.integer(), right.integer());
    if (left.isNumber() && right.isNumber())
        return realResult(operation, left.real(), right.real());
    if (operation == Operator::Add && canAdd(left, right))
        return sum(meter, left, right);
    if (operation == Operator::Multiply && isRepeatable(left) && right.isInteger())
        return repeated(meter, left, right.integer());
    if (operation == Operator::Multiply && left.isInteger() && isRepeatable(right))
        return repeated(meter, right, left.integer());
    fail("'" + std::string(symbolOf(operation)) + "' does not work between '" + std::string(typeName(left)) +
         "' and '" + std::string(typeName(right)) + "'");
}

Value unary(Operator operation, const Value &operand)
{
    requireDefined(operand);
    if (operand.isInteger()) {
        if (operation == Operator::Plus)
            return operand.integer();
        if (operand.integer() == std::numeric_limits<std::int64_t>::min())
            failOverflow();
        return -operand.integer();
    }
    if (operand.is<double>())
        return operation == Operator::Plus ? operand.as<double>() : -operand.as<double>();
    fail("'" + std::string(symbolOf(operation)) + "' does not work on '" + std::string(typeName(operand)) +
         "'");
}

} // namespace tokenloupe::jinja
