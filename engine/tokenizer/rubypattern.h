// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <string>
#include <string_view>

namespace tokenloupe {

/// A regular expression of Ruby's dialect (which tokenizer.json files are written in) spelled for PCRE2 with
/// UTF, UCP and MULTILINE. `\s`, `\w` and `\p{…}` mean what they mean there: White_Space, all of letters,
/// marks, digits and connectors, scripts without extensions; classes may nest and intersect.
Result<std::string> pcrePatternOf(std::string_view pattern);

} // namespace tokenloupe
