// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/arguments.h"
#include "engine/chat/jinja/value.h"

#include <span>
#include <string_view>

namespace tokenloupe::jinja {

class Evaluator;

/// A method of a built-in type. Without a function: it exists in Python, but it changes its object, which the
/// sandbox forbids.
struct MethodEntry
{
    std::string_view name;
    Value (*function)(Evaluator &evaluator, const Value &self, const Arguments &arguments) = nullptr;
};

/// Null when values of that type have no such method.
const MethodEntry *findMethod(const Value &object, std::string_view name);

std::span<const MethodEntry> textMethods();
std::span<const MethodEntry> textPropertyMethods(); ///< isalpha, …
std::span<const MethodEntry> containerMethods(const Value &object);

} // namespace tokenloupe::jinja
