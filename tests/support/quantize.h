// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tokenloupe::test {

std::uint16_t halfOf(float value);   ///< IEEE binary16, round to nearest even
std::uint16_t bfloatOf(float value); ///< bfloat16, round to nearest even

/// Stores values as a GGUF type id (F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 and those of
/// quantizesuper.h): plain rounding, for tests. The number of values must be whole blocks. Throws on other
/// types.
std::vector<std::byte> storeAs(std::uint32_t typeId, std::span<const float> values);

/// Values in one block of such a type.
std::uint32_t blockValuesOf(std::uint32_t typeId);

} // namespace tokenloupe::test
