// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/estimate.h"

namespace tokenloupe {

/// InvalidArgument whose operation is the setting ("context", "batch", "key type", …) and whose message says
/// what was expected and what was found.
Status checkEstimateRequest(const EstimateRequest &request);

/// What is worth saying though it can be computed: beyond the trained context, windows of other engines, ….
std::vector<std::string> requestWarnings(const EstimateRequest &request);

} // namespace tokenloupe
