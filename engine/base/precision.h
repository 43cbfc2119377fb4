// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tokenloupe {

/// Exact: float32 activations, no rounding beyond the file's own weights. Fast: activations of 15 bits where
/// there is a kernel for the weight's type, else as exact.
enum class Precision : std::uint8_t { Exact, Fast };
std::string_view precisionName(Precision precision); ///< "exact", "fast"
std::optional<Precision> precisionOf(std::string_view name);

constexpr Precision otherPrecision(Precision precision)
{
    return precision == Precision::Exact ? Precision::Fast : Precision::Exact;
}

} // namespace tokenloupe
