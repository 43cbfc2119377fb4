// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/philox.h"

#include <random>

namespace tokenloupe {

namespace {

constexpr int rounds = 10;
// The two multipliers and the two Weyl increments of the paper's 4x32 variant.
constexpr std::uint64_t multiplier0 = 0xD2511F53;
constexpr std::uint64_t multiplier1 = 0xCD9E8D57;
constexpr std::uint32_t weyl0 = 0x9E3779B9;
constexpr std::uint32_t weyl1 = 0xBB67AE85;

constexpr std::uint32_t low(std::uint64_t value)
{
    return static_cast<std::uint32_t>(value);
}

constexpr std::uint32_t high(std::uint64_t value)
{
    return static_cast<std::uint32_t>(value >> 32);
}

} // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key)
{
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t product0 = multiplier0 * counter[0];
        const std::uint64_t product1 = multiplier1 * counter[2];
        counter = {high(product1) ^ counter[1] ^ key[0], low(product1), high(product0) ^ counter[3] ^ key[1],
                   low(product0)};
        key[0] += weyl0;
        key[1] += weyl1;
    }
    return counter;
}

double uniformDraw(std::uint64_t seed, std::uint64_t step, std::uint32_t stage)
{
    const auto words = philox4x32({low(step), high(step), stage, 0}, {low(seed), high(seed)});
    const std::uint64_t bits = (static_cast<std::uint64_t>(words[0]) << 32) | words[1];
    return static_cast<double>(bits >> 11) * 0x1p-53;
}

std::uint64_t randomSeed()
{
    std::random_device entropy;
    return std::uniform_int_distribution<std::uint32_t>()(entropy);
}

} // namespace tokenloupe
