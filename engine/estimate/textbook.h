// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/costmodel.h"

#include <vector>

namespace tokenloupe {

/// What common shortcuts say for this request, beside the right number and why they differ.
std::vector<TextbookFormula> textbookFormulas(const CostModel &model, const Costs &costs);

} // namespace tokenloupe
