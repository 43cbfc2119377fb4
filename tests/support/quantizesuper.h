// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/ggufwriter.h"

#include <cstdint>
#include <span>

namespace tokenloupe::test {

/// Values in one block of the types below; 0 for others.
std::uint32_t superBlockValuesOf(std::uint32_t typeId);

/// Appends one block: Q2_K … Q6_K, Q8_K, IQ4_NL, IQ4_XS, TQ2_0 or MXFP4. Scales by range, codes by plain
/// rounding.
void appendSuperBlock(ByteWriter &out, std::uint32_t typeId, std::span<const float> values);

} // namespace tokenloupe::test
