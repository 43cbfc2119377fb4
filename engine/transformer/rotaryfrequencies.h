// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/model/model.h"

#include <vector>

namespace tokenloupe {

/// How the heads of a layer turn.
struct Rotary
{
    std::vector<float> inverseFrequencies; ///< one for each rotated pair: angle = position · this
    float magnitude = 1.0F;                ///< of sines and cosines
};

enum class RotaryScope : std::uint8_t {
    Whole, ///< of layers that see everything, and of all where there is no other
    Local, ///< of layers with a window, if they have a base of their own
};

/// Base, scaling and the file's frequency factors are folded in. Scalings that depend on the length
/// ("dynamic", "longrope") are taken for a context of `contextTokens`: were they taken for the tokens that
/// are there, a token's result would depend on how the text was split into batches.
Result<Rotary> rotary(const Model &model, RotaryScope scope, std::uint32_t contextTokens);

/// Whether rotary() depends on the context.
bool rotaryDependsOnContext(const ModelConfig &config);

} // namespace tokenloupe
