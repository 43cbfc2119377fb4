// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <string_view>

namespace tokenloupe::jinja {

class Meter;

/// First place of `needle` at or after `from`, or npos. Linear in the sizes, whatever they hold.
std::size_t findText(Meter &meter, std::string_view text, std::string_view needle, std::size_t from);
/// Last place of `needle` that ends at or before `end`, or npos.
std::size_t findLastText(Meter &meter, std::string_view text, std::string_view needle, std::size_t end);

} // namespace tokenloupe::jinja
