// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/modelshape.h"
#include "engine/estimate/weighttypes.h"
#include "engine/model/modelconfig.h"

#include <cstdint>
#include <vector>

namespace tokenloupe {

/// a · b / c, rounded down, without leaving 64 bits on the way; 0 for c = 0.
std::uint64_t proportion(std::uint64_t a, std::uint64_t b, std::uint64_t c);

/// Weights by where they lie: in the layers, before them (embedding) and behind them (output head).
struct WeightPlaces
{
    std::uint64_t embedding = 0;
    std::vector<std::uint64_t> layers;
    std::uint64_t output = 0;
    bool isTied = false; ///< the embedding is the output head
};
WeightPlaces weightPlaces(const ModelShape &shape, const WeightPlan &weights);

/// The model's configuration as our own engine would plan it.
ModelConfig configOf(const ModelShape &shape);

} // namespace tokenloupe
