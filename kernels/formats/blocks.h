// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <cstring>

// Layouts of the stored block types that the kernels multiply by, and conversions of the 16-bit floats in
// them.
//
// note: the functions are always inlined. They are called from files compiled for different instruction sets;
// an out-of-line copy from one of those could be the one that the linker keeps for everybody.

namespace tokenloupe {

/// w = d · (q - 8). Byte i of q holds value i in its low and value i + 16 in its high half.
struct BlockQ4_0
{
    std::uint16_t d; ///< binary16
    std::uint8_t q[16];
};

/// w = d · q + m; halves as in Q4_0.
struct BlockQ4_1
{
    std::uint16_t d; ///< binary16
    std::uint16_t m; ///< binary16
    std::uint8_t q[16];
};

/// w = d · (q - 16); bit i of `high` (little endian) is bit 4 of value i.
struct BlockQ5_0
{
    std::uint16_t d; ///< binary16
    std::uint8_t high[4];
    std::uint8_t q[16];
};

/// w = d · q + m; fifth bits as in Q5_0.
struct BlockQ5_1
{
    std::uint16_t d; ///< binary16
    std::uint16_t m; ///< binary16
    std::uint8_t high[4];
    std::uint8_t q[16];
};

/// w = d · q
struct BlockQ8_0
{
    std::uint16_t d; ///< binary16
    std::int8_t q[32];
};

constexpr int quantBlockValues = 32;

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22 &&
                  sizeof(BlockQ5_1) == 24 && sizeof(BlockQ8_0) == 34,
              "blocks lie in the file without padding");

[[gnu::always_inline]] inline std::uint32_t floatBits(float value)
{
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

[[gnu::always_inline]] inline float bitsToFloat(std::uint32_t bits)
{
    float value = 0.0F;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/// IEEE binary16 to float32, exact. NaN stays NaN (made quiet, as the hardware does).
[[gnu::always_inline]] inline float halfToFloat(std::uint16_t half)
{
    const std::uint32_t sign = (std::uint32_t(half) & 0x8000U) << 16;
    const std::uint32_t magnitude = (std::uint32_t(half) & 0x7FFFU) << 13;
    // Read as float32 the value is 2^112 too small, subnormal or not; the product is exact.
    const std::uint32_t finite = floatBits(bitsToFloat(magnitude) * bitsToFloat(0x77800000U));
    const std::uint32_t quiet = magnitude > 0x0F800000U ? 0x7FC00000U : 0x7F800000U;
    return bitsToFloat(sign | (magnitude >= 0x0F800000U ? (magnitude | quiet) : finite));
}

/// float32 to IEEE binary16, nearest even; too large becomes infinity.
[[gnu::always_inline]] inline std::uint16_t floatToHalf(float value)
{
    const std::uint32_t bits = floatBits(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    std::uint32_t half = 0;
    if (magnitude > 0x7F800000U)
        half = 0x7E00U | ((magnitude >> 13) & 0x3FFU);
    else if (magnitude >= 0x477FF000U) // 65520, half way to the first value that does not exist
        half = 0x7C00U;
    else if (magnitude < 0x38800000U) // subnormal: the units of 0.5F are 2^-24, those of the result
        half = floatBits(bitsToFloat(magnitude) + 0.5F) - floatBits(0.5F);
    else
        half = (magnitude - 0x38000000U + 0x0FFFU + ((magnitude >> 13) & 1U)) >> 13;
    return std::uint16_t(sign | half);
}

[[gnu::always_inline]] inline float bfloatToFloat(std::uint16_t bfloat)
{
    return bitsToFloat(std::uint32_t(bfloat) << 16);
}

/// float32 to bfloat16, nearest even; NaN stays NaN (made quiet).
[[gnu::always_inline]] inline std::uint16_t floatToBfloat(float value)
{
    const std::uint32_t bits = floatBits(value);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
        return std::uint16_t((bits >> 16) | 0x0040U);
    return std::uint16_t((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

} // namespace tokenloupe
