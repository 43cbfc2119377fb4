// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace tokenloupe {

/// When keys are stored. Rotated: after the rotary embedding, bound to the position they were computed at.
/// Unrotated: before it; whoever reads them rotates them to the position that they have in the sequence's
/// table by then, so blocks can leave the middle of a sequence and the rest moves up.
enum class KeyPhase : std::uint8_t { Rotated, Unrotated };

} // namespace tokenloupe
