// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tokenloupe {

/// What PCRE2 has between brackets for the characters of a property by any of its names ("L", "Letter",
/// "Han", "White_Space", "alnum"), or nothing for names that can be none. Whether a script of a name exists
/// is for PCRE2 to say.
std::optional<std::string> unicodePropertyMembers(std::string_view name);

} // namespace tokenloupe
