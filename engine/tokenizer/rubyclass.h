// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <string>
#include <string_view>

namespace tokenloupe {

/// What a backslash and what follows it stand for: a set of characters, by what PCRE2 would have between
/// brackets for it, or something else, as PCRE2 spells it.
struct RubyEscape
{
    std::string members;
    bool negated = false; ///< all but `members`
    std::string text;     ///< when there are no members
};

/// Members of `\w` in Ruby.
std::string_view wordMembers();

/// Reads the escape at `at` (its backslash) and moves `at` behind it.
Result<RubyEscape> readRubyEscape(std::string_view pattern, std::size_t &at);

/// Reads the class at `at` (its "[") and moves `at` behind it; the result matches one character.
Result<std::string> readRubyClass(std::string_view pattern, std::size_t &at);

} // namespace tokenloupe
