// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/quantize.h"

#include "tests/support/ggufwriter.h"
#include "tests/support/quantizesuper.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace tokenloupe::test {

namespace {

constexpr std::size_t blockSize = 32;
using Block = std::span<const float, blockSize>;
using Codes = std::array<std::uint8_t, blockSize>;

std::uint8_t code(float value, float highest)
{
    return static_cast<std::uint8_t>(std::clamp(std::nearbyint(value), 0.0F, highest));
}

/// Low four bits: value i in the low half of byte i, value i + 16 in the high half.
void appendNibbles(ByteWriter &out, const Codes &codes)
{
    for (std::size_t i = 0; i < blockSize / 2; ++i)
        out.number(static_cast<std::uint8_t>((codes[i] & 15U) | ((codes[i + blockSize / 2] & 15U) << 4)));
}

void appendFifthBits(ByteWriter &out, const Codes &codes)
{
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < blockSize; ++i)
        bits |= static_cast<std::uint32_t>(codes[i] >> 4) << i;
    out.number(bits);
}

/// w = d · (q - 2^(bits - 1))
void appendSymmetric(ByteWriter &out, Block values, int bits)
{
    float extreme = 0.0F;
    for (const float value : values)
        extreme = std::abs(value) > std::abs(extreme) ? value : extreme;
    const float middle = std::exp2(static_cast<float>(bits - 1));
    const float scale = extreme / -middle;
    Codes codes{};
    for (std::size_t i = 0; i < blockSize; ++i)
        codes[i] = code(scale == 0.0F ? middle : values[i] / scale + middle, 2 * middle - 1);
    out.number(halfOf(scale));
    if (bits == 5)
        appendFifthBits(out, codes);
    appendNibbles(out, codes);
}

/// w = d · q + m
void appendWithMinimum(ByteWriter &out, Block values, int bits)
{
    const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
    const float levels = std::exp2(static_cast<float>(bits)) - 1;
    const float scale = (*highest - *lowest) / levels;
    Codes codes{};
    for (std::size_t i = 0; i < blockSize; ++i)
        codes[i] = code(scale == 0.0F ? 0.0F : (values[i] - *lowest) / scale, levels);
    out.number(halfOf(scale)).number(halfOf(*lowest));
    if (bits == 5)
        appendFifthBits(out, codes);
    appendNibbles(out, codes);
}

void appendEightBits(ByteWriter &out, Block values)
{
    float largest = 0.0F;
    for (const float value : values)
        largest = std::max(largest, std::abs(value));
    const float scale = largest / 127.0F;
    out.number(halfOf(scale));
    for (const float value : values)
        out.number(static_cast<std::int8_t>(scale == 0.0F ? 0.0F : std::nearbyint(value / scale)));
}

void appendBlock(ByteWriter &out, std::uint32_t typeId, Block values)
{
    switch (typeId) {
    case 2:
        return appendSymmetric(out, values, 4);
    case 3:
        return appendWithMinimum(out, values, 4);
    case 6:
        return appendSymmetric(out, values, 5);
    case 7:
        return appendWithMinimum(out, values, 5);
    case 8:
        return appendEightBits(out, values);
    default:
        throw std::logic_error("no quantiser for this type");
    }
}

} // namespace

std::uint16_t halfOf(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
    const float magnitude = std::abs(value);
    if (std::isnan(value))
        return static_cast<std::uint16_t>(sign | 0x7E00U);
    if (magnitude >= 65520.0F) // halfway between the largest half and the next
        return static_cast<std::uint16_t>(sign | 0x7C00U);
    if (magnitude < 0x1p-14F) // subnormal: a whole number of 2^-24
        return static_cast<std::uint16_t>(sign +
                                          static_cast<std::uint16_t>(std::nearbyint(magnitude * 0x1p24F)));
    const std::uint32_t unsignedBits = bits & 0x7FFFFFFFU;
    const std::uint32_t rounded = unsignedBits + 0xFFFU + ((unsignedBits >> 13) & 1U);
    return static_cast<std::uint16_t>(sign | ((rounded - (112U << 23)) >> 13));
}

std::uint16_t bfloatOf(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value))
        return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
    return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

std::uint32_t blockValuesOf(std::uint32_t typeId)
{
    if (const std::uint32_t values = superBlockValuesOf(typeId))
        return values;
    return typeId == 0 || typeId == 1 || typeId == 30 ? 1 : blockSize;
}

std::vector<std::byte> storeAs(std::uint32_t typeId, std::span<const float> values)
{
    ByteWriter out;
    if (typeId == 0)
        return out.raw(std::as_bytes(values)).bytes();
    if (typeId == 1 || typeId == 30) {
        for (const float value : values)
            out.number(typeId == 1 ? halfOf(value) : bfloatOf(value));
        return out.bytes();
    }
    const std::size_t blockValues = blockValuesOf(typeId);
    if (values.size() % blockValues != 0)
        throw std::logic_error("values are not whole blocks");
    for (std::size_t i = 0; i < values.size(); i += blockValues) {
        const auto block = values.subspan(i, blockValues);
        if (superBlockValuesOf(typeId) != 0)
            appendSuperBlock(out, typeId, block);
        else
            appendBlock(out, typeId, Block(block));
    }
    return out.bytes();
}

} // namespace tokenloupe::test
