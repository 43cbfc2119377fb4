// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/arguments.h"
#include "engine/chat/jinja/value.h"

#include <string_view>

namespace tokenloupe::jinja {

class Evaluator;

/// What may follow `is`.
struct TestEntry
{
    std::string_view name;
    bool (*function)(Evaluator &evaluator, const Value &input, const Arguments &arguments) = nullptr;
};

/// Null when there is none of that name.
const TestEntry *findTest(std::string_view name);

} // namespace tokenloupe::jinja
