// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/arguments.h"
#include "engine/chat/jinja/value.h"

#include <span>
#include <string_view>

namespace tokenloupe::jinja {

class Evaluator;

struct FilterEntry
{
    std::string_view name;
    Value (*function)(Evaluator &evaluator, const Value &input, const Arguments &arguments) = nullptr;
};

/// Jinja's filters but random, pprint, urlize, striptags and wordwrap. Null when there is none of that name.
const FilterEntry *findFilter(std::string_view name);

std::span<const FilterEntry> textFilters();
std::span<const FilterEntry> layoutFilters();
std::span<const FilterEntry> numberFilters();
std::span<const FilterEntry> sequenceFilters();
std::span<const FilterEntry> selectionFilters();

} // namespace tokenloupe::jinja
