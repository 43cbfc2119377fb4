// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>

namespace tokenloupe {

/// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
/// A pure function of key and counter: a draw depends on nothing that was drawn or looked at before.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// Uniform double in [0, 1) with 53 random bits, for (seed, step, stage).
double uniformDraw(std::uint64_t seed, std::uint64_t step, std::uint32_t stage);

/// A seed from the operating system's entropy, below 2^32 so that people can type it.
std::uint64_t randomSeed();

} // namespace tokenloupe
