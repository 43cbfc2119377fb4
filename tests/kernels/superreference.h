// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/formats/tensortype.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace tokenloupe::test {

/// Value i of a block of one of the types with code tables or several scales, from the format's definition
/// alone: one value at a time, bytes and bits picked out by position. Exact, but NaN for other types.
double superBlockValue(TensorType type, const std::byte *block, int i);

/// Where the floats of a block lie that must be kept from being huge, tiny or not numbers when a block is
/// filled at random, and what they are.
enum class ScaleKind { Half, Float, Exponent, ScatteredHalf };
struct ScalePlace
{
    ScaleKind kind;
    std::size_t at;
};
std::vector<ScalePlace> scalePlaces(TensorType type);

/// Makes the scales of a block finite, between 2^-6 and 2^1 (for exponents: around 1), signs as they are.
void tameScales(TensorType type, std::byte *block, std::mt19937 &random);

} // namespace tokenloupe::test
