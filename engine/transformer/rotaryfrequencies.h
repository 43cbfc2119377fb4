// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/model/model.h"

#include <vector>

namespace tokenloupe {

/// One number for each rotated pair: angle = position · this. Base, linear scaling and the file's frequency
/// factors are folded in. Scalings that are not linear are Unsupported.
Result<std::vector<float>> rotaryFrequencies(const Model &model);

} // namespace tokenloupe
