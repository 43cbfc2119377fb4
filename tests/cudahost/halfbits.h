// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

// Bits of binary16 and bfloat16, rounded to the nearest even.

namespace cudahost {

inline std::uint32_t bitsOf(float value)
{
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

inline float floatOf(std::uint32_t bits)
{
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

inline float floatOfHalf(std::uint16_t half)
{
    const std::uint32_t sign = (std::uint32_t{half} & 0x8000U) << 16;
    const std::uint32_t exponent = half >> 10 & 0x1FU;
    const std::uint32_t fraction = half & 0x3FFU;
    if (exponent == 0x1F)
        return floatOf(sign | 0x7F800000U | fraction << 13);
    if (exponent != 0)
        return floatOf(sign | (exponent + 112) << 23 | fraction << 13);
    return floatOf(sign | bitsOf(static_cast<float>(fraction) * 0x1p-24F));
}

inline std::uint16_t halfOfFloat(float value)
{
    const std::uint32_t bits = bitsOf(value);
    const std::uint32_t sign = bits >> 16 & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U)
        return 0x7FFF;            // CUDA has one NaN
    if (magnitude >= 0x477FF000U) // from 65520 on
        return static_cast<std::uint16_t>(sign | 0x7C00U);
    if (magnitude >= 0x38800000U) { // from 2^-14 on: a normal number
        const std::uint32_t even = magnitude >> 13 & 1U;
        return static_cast<std::uint16_t>(sign | (magnitude - 0x38000000U + 0xFFFU + even) >> 13);
    }
    // Multiples of 2^-24: adding 1/2 as a float rounds to exactly those.
    return static_cast<std::uint16_t>(sign | (bitsOf(floatOf(magnitude) + 0.5F) - bitsOf(0.5F)));
}

/// A float for rounding further: where the nearest one lies half way between two shorter numbers, its last
/// bit says to which side the double is. `rest`: what is to be added to it but was too small.
inline float floatForRounding(double value, double rest = 0.0)
{
    float nearest = static_cast<float>(value);
    const double lost = value != static_cast<double>(nearest) ? value - static_cast<double>(nearest) : rest;
    if (std::isfinite(nearest) && lost != 0.0 && (bitsOf(nearest) & 1U) == 0)
        nearest = std::nextafter(nearest, lost > 0.0 ? INFINITY : -INFINITY);
    return nearest;
}

inline float floatOfBfloat(std::uint16_t bits)
{
    return floatOf(std::uint32_t{bits} << 16);
}

inline std::uint16_t bfloatOfFloat(float value)
{
    const std::uint32_t bits = bitsOf(value);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
        return 0x7FFF;
    return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

} // namespace cudahost
