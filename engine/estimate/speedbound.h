// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/costmodel.h"

namespace tokenloupe {

/// Decode cannot be faster than memory gives what a step reads: the weights once for all sequences, the keys
/// and values of each.
SpeedBound decodeBound(const CostModel &model, const Costs &costs);
/// Prefill cannot be faster than the multiplications: two operations for each active parameter and token, and
/// attention over the positions before it (half of the context on average).
SpeedBound prefillBound(const CostModel &model, const Costs &costs);

} // namespace tokenloupe
