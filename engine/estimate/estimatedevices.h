// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/costmodel.h"

namespace tokenloupe {

/// Layers and bytes of each card that was named.
std::vector<DeviceShare> deviceShares(const CostModel &model, const Costs &costs);

struct Offload
{
    std::uint32_t layers = 0;    ///< on the cards, the last ones of the model
    std::uint64_t hostBytes = 0; ///< embedding, output head and the other layers with their cache
    bool fits = false;
};
/// As engines do that run some layers from host memory: whole layers move, the embedding stays on the host,
/// and the output head too while a layer is left there.
Offload planOffload(const CostModel &model, const Costs &costs);

} // namespace tokenloupe
