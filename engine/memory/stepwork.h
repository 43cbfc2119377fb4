// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/modelconfig.h"

#include <cstdint>

namespace tokenloupe {

/// Multiply-adds of a forward pass, by formula: what it costs when keys and values are kept, and when they
/// are not.
///
/// matrices: a token multiplies by every matrix of every layer once (of experts: by those it takes), 1
/// multiply-add a weight; the output head only for the last token, and the last layer's output projection and
/// feed-forward likewise. attention: a token at position p sees p + 1 positions (at most the layer's window);
/// each costs heads · (head size + value head size).
struct StepWork
{
    double matrices = 0.0;
    double attention = 0.0;
    double total() const { return matrices + attention; }
};

/// `tokens` (≥ 1) tokens appended after `firstPosition` ones that are kept.
StepWork stepWork(const ModelConfig &config, std::uint64_t firstPosition, std::uint64_t tokens);

} // namespace tokenloupe
