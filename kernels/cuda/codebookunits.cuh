// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/weightunits.cuh"
#include "kernels/formats/codebooks.h"

// What the formats with codebooks share. The device keeps the lists of level numbers as they are written down
// (16 bits a group, the longest 4 KiB) and spreads a group out by a byte permutation: eight times less to
// look up than ready bytes for IQ2 and IQ1, so that the lists stay in the first cache.

namespace tokenloupe::cuda {

__host__ __device__ constexpr std::uint32_t levelTable(const int *levels)
{
    return static_cast<std::uint32_t>(levels[0]) | static_cast<std::uint32_t>(levels[1]) << 8 |
           static_cast<std::uint32_t>(levels[2]) << 16 | static_cast<std::uint32_t>(levels[3]) << 24;
}

/// Eight values of two bits each, looked up in four levels.
__device__ inline void spreadTwoBits(std::uint32_t code, std::uint32_t table, std::uint32_t *words)
{
    // Two bits to each half byte.
    std::uint32_t places = (code | code << 8) & 0x00FF00FFU;
    places = (places | places << 4) & 0x0F0F0F0FU;
    places = (places | places << 2) & 0x33333333U;
    words[0] = __byte_perm(table, 0U, places & 0xFFFFU);
    words[1] = __byte_perm(table, 0U, places >> 16);
}

/// Four values of three bits each, looked up in eight levels.
__device__ inline std::uint32_t spreadThreeBits(std::uint32_t code, std::uint32_t low, std::uint32_t high)
{
    const std::uint32_t places =
        (code & 0x7U) | (code & 0x38U) << 1 | (code & 0x1C0U) << 2 | (code & 0xE00U) << 3;
    return __byte_perm(low, high, places);
}

/// Bit i of `signs` (four of them) as the sign of byte i, which must be positive.
__device__ inline std::uint32_t withSigns(std::uint32_t bytes, std::uint32_t signs)
{
    const std::uint32_t isSet = (signs & 15U) * 0x00204081U & 0x01010101U;
    return (bytes ^ isSet * 255U) + isSet;
}

/// Seven signs; the eighth makes their number even.
__device__ inline std::uint32_t evenSigns(std::uint32_t seven)
{
    std::uint32_t parity = seven ^ seven >> 4;
    parity ^= parity >> 2;
    parity ^= parity >> 1;
    return seven | (parity & 1U) << 7;
}

} // namespace tokenloupe::cuda
