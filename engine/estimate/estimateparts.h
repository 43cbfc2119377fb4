// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/costmodel.h"

#include <vector>

namespace tokenloupe {

/// The costs by name with their arithmetic; their sum is `costs.total`.
std::vector<EstimatePart> estimateParts(const CostModel &model, const Costs &costs);

} // namespace tokenloupe
