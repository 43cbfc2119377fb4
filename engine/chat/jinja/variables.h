// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/jinja/value.h"

#include <nlohmann/json_fwd.hpp>

namespace tokenloupe::jinja {

/// A JSON value for the template; its strings and keys are input. Throws a Failure where it nests too deeply
/// or has a number that does not fit.
Value valueOfJson(Meter &meter, const nlohmann::ordered_json &json);

} // namespace tokenloupe::jinja
