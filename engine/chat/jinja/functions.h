// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/arguments.h"
#include "engine/chat/jinja/value.h"

#include <span>
#include <string_view>

namespace tokenloupe::jinja {

class Evaluator;

struct FunctionEntry
{
    std::string_view name;
    Value (*function)(Evaluator &evaluator, const Arguments &arguments) = nullptr;
};

/// range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
std::span<const FunctionEntry> globalFunctions();

} // namespace tokenloupe::jinja
