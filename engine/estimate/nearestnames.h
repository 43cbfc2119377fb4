// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// The few of `names` that look most like `asked` (case, spaces and punctuation do not count), nearest first.
std::vector<std::string> nearestNames(std::string_view asked, const std::vector<std::string> &names,
                                      std::size_t most = 4);
std::string nearestNamesText(std::string_view asked, const std::vector<std::string> &names); ///< "A, B, C"
/// Letters and digits alone, lower case: what names are compared by.
std::string comparableName(std::string_view name);

} // namespace tokenloupe
