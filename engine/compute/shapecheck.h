// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/backend.h"

#include <cstdint>
#include <string_view>

namespace tokenloupe {

/// What the backend's operations check before they touch memory.
tl::unexpected<Error> wrongShape(std::string_view operation, std::string_view what, std::int64_t got,
                                 std::int64_t expected);
Status checkSame(std::string_view operation, const Activations &a, const Activations &b);
/// As many frequencies as pairs that turn, and no more of them than a head has.
Status checkRotation(std::string_view operation, const RopeParams &params);
/// A weight that is there, of a type the kernels know, as large as it says, with `columns` inputs.
Status checkWeight(std::string_view operation, const Weight &weight, std::int64_t columns);

} // namespace tokenloupe
