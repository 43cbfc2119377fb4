// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tokenloupe::jinja {

/// A set of code points as rising numbers: the first of a run that is inside, the first that is outside
/// again, …
using CodeSet = std::span<const std::uint32_t>;

extern const CodeSet alphabeticSet;
extern const CodeSet decimalSet;
extern const CodeSet digitSet;
extern const CodeSet numericSet;
extern const CodeSet printableSet;
extern const CodeSet upperSet;
extern const CodeSet lowerSet;
extern const CodeSet titleSet;

/// Code points first, first + stride, … last map to themselves + delta.
struct CaseRun
{
    std::uint32_t first, last, stride;
    std::int32_t delta;
};

/// A mapping that is no single character, or a title form of its own.
struct CaseSpecial
{
    std::uint32_t code;
    std::string_view text; ///< UTF-8
};

extern const std::span<const CaseRun> upperRuns;
extern const std::span<const CaseRun> lowerRuns;
extern const std::span<const CaseSpecial> upperSpecials;
extern const std::span<const CaseSpecial> lowerSpecials;
extern const std::span<const CaseSpecial> titleSpecials; ///< where the title form is not the upper form

} // namespace tokenloupe::jinja
