// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/ast.h"
#include "engine/chat/jinja/value.h"

#include <compare>

namespace tokenloupe::jinja {

/// Python's truth.
bool isTrue(const Value &value);
/// Python's ==.
bool areEqual(Meter &meter, const Value &left, const Value &right);
/// Python's `is`.
bool areSame(const Value &left, const Value &right);
/// Python's order of numbers, strings and sequences; fails for what has none.
std::partial_ordering order(Meter &meter, const Value &left, const Value &right);
bool contains(Meter &meter, const Value &container, const Value &item);
bool compare(Meter &meter, Comparison comparison, const Value &left, const Value &right);

Value binary(Meter &meter, Operator operation, const Value &left, const Value &right);
Value unary(Operator operation, const Value &operand);
std::int64_t checkedAdd(std::int64_t left, std::int64_t right);
std::int64_t checkedMultiply(std::int64_t left, std::int64_t right);

/// What a for goes through. Uses an iterator up.
SequencePtr iterate(Meter &meter, const Value &value);
/// Whether iterate() would go.
bool isIterable(const Value &value);
/// len(); nothing for what has none.
enum class HasLength { No, Yes };
HasLength lengthOf(Meter &meter, const Value &value, std::int64_t &length);

/// Fails with the hint when the value is undefined.
void requireDefined(const Value &value);

} // namespace tokenloupe::jinja
