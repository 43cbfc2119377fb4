// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/trace/steprecord.h"

#include <QColor>

namespace tokenloupe {

/// What the tint behind a token of the chat says.
enum class TokenColouring { Surprise, Probability, Entropy, Rank, None };

/// Strength of the tint, 0 … 1. Surprise and entropy: bits / 8; probability: itself; rank: log2(rank + 1)
/// / 8.
double tintStrength(TokenColouring colouring, const StepRecord &record);
/// The tint on the panel's ground in the present theme; invalid for none.
QColor tintColor(TokenColouring colouring, const StepRecord &record);
QString colouringName(TokenColouring colouring);

} // namespace tokenloupe
