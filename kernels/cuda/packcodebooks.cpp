// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/unitpacking.h"
#include "kernels/formats/superblocks.h"

namespace tokenloupe::cuda {

namespace {

void packIQ2_XXS(const BlockIQ2_XXS &block, const UnitPlaces &first)
{
    std::memcpy(first.codes, block.q, sizeof block.q);
    storeValue(first.supers, block.d);
}

void packIQ2_XS(const BlockIQ2_XS &block, const UnitPlaces &first)
{
    std::memcpy(first.codes, block.q, sizeof block.q);
    std::memcpy(first.scales, block.scales, sizeof block.scales);
    storeValue(first.supers, block.d);
}

void packIQ2_S(const BlockIQ2_S &block, const UnitPlaces &first)
{
    forEachUnit<TensorType::IQ2_S>(first, [&](int unit, const UnitPlaces &places) {
        std::memcpy(places.codes, block.q + 4 * unit, 4);
        std::memcpy(places.codes + 4, block.signs + 4 * unit, 4);
        storeValue(places.scales, block.high[unit]);
        storeValue(places.scales + 1, block.scales[unit]);
    });
    storeValue(first.supers, block.d);
}

void packIQ3_XXS(const BlockIQ3_XXS &block, const UnitPlaces &first)
{
    std::memcpy(first.codes, block.q, sizeof block.q);
    std::memcpy(first.extra, block.signs, sizeof block.signs);
    storeValue(first.supers, block.d);
}

void packIQ3_S(const BlockIQ3_S &block, const UnitPlaces &first)
{
    std::memcpy(first.codes, block.q, sizeof block.q);
    std::memcpy(first.extra, block.signs, sizeof block.signs);
    forEachUnit<TensorType::IQ3_S>(first, [&](int unit, const UnitPlaces &places) {
        storeValue(places.scales, block.high[unit]);
        storeValue(places.scales + 1, std::uint8_t(block.scales[unit / 2] >> (unit % 2 * 4) & 15));
    });
    storeValue(first.supers, block.d);
}

void packIQ1_S(const BlockIQ1_S &block, const UnitPlaces &first)
{
    std::memcpy(first.codes, block.q, sizeof block.q);
    std::memcpy(first.extra, block.high, sizeof block.high);
    storeValue(first.supers, block.d);
}

void packIQ1_M(const BlockIQ1_M &block, const UnitPlaces &first)
{
    std::memcpy(first.codes, block.q, sizeof block.q);
    std::memcpy(first.extra, block.high, sizeof block.high);
    std::uint16_t words[4];
    std::memcpy(words, block.scales, sizeof words);
    forEachUnit<TensorType::IQ1_M>(first, [&](int unit, const UnitPlaces &places) {
        const int scales = words[unit / 2] >> (unit % 2 * 6);
        storeValue(places.scales, std::uint8_t((scales & 7) | (scales >> 3 & 7) << 4));
    });
    int d = 0;
    for (int i = 0; i < 4; ++i)
        d |= words[i] >> 12 << (4 * i);
    storeValue(first.supers, std::uint16_t(d));
}

/// The first digit of each of `count` bytes, then the second, and so on.
std::uint8_t *readDigits(const std::uint8_t *q, int count, int digitCount, std::uint8_t *out)
{
    for (int digit = 0, power = 1; digit < digitCount; ++digit, power *= 3) {
        for (int i = 0; i < count; ++i)
            *out++ = std::uint8_t((q[i] * power & 255) * 3 >> 8);
    }
    return out;
}

/// Five digits, `step` apart, as the fraction of 256 that they are after the point, rounded up.
std::uint8_t digitByte(const std::uint8_t *digits, int step)
{
    int value = 0;
    for (int i = 0; i < 5; ++i)
        value = 3 * value + digits[i * step];
    return std::uint8_t((value * 256 + 242) / 243);
}

void packTQ1_0(const BlockTQ1_0 &block, const UnitPlaces &first)
{
    std::uint8_t digits[superBlockValues];
    std::uint8_t *next = readDigits(block.q, 32, 5, digits);
    next = readDigits(block.q + 32, 16, 5, next);
    readDigits(block.high, 4, 4, next);
    forEachUnit<TensorType::TQ1_0>(first, [&](int unit, const UnitPlaces &places) {
        const std::uint8_t *columns = digits + unitColumns * unit;
        for (int i = 0; i < 4; ++i)
            storeValue(places.codes + i, digitByte(columns + i, 4));
        for (int i = 0; i < 2; ++i)
            storeValue(places.extra + i, digitByte(columns + 20 + i, 2));
    });
    // The last two columns of two units share a byte.
    for (int pair = 0; pair < superUnits / 2; ++pair) {
        const std::uint8_t *columns = digits + 2 * unitColumns * pair + 30;
        const auto halfByte = [](const std::uint8_t *two) { return two[0] | two[1] << 2; };
        storeValue(first.scales + pair,
                   std::uint8_t(halfByte(columns) | halfByte(columns + unitColumns) << 4));
    }
    storeValue(first.supers, block.d);
}

} // namespace

BlockPacker codebookPacker(TensorType type)
{
    switch (type) {
    case TensorType::IQ2_XXS:
        return superPacker<TensorType::IQ2_XXS, BlockIQ2_XXS, packIQ2_XXS>;
    case TensorType::IQ2_XS:
        return superPacker<TensorType::IQ2_XS, BlockIQ2_XS, packIQ2_XS>;
    case TensorType::IQ2_S:
        return superPacker<TensorType::IQ2_S, BlockIQ2_S, packIQ2_S>;
    case TensorType::IQ3_XXS:
        return superPacker<TensorType::IQ3_XXS, BlockIQ3_XXS, packIQ3_XXS>;
    case TensorType::IQ3_S:
        return superPacker<TensorType::IQ3_S, BlockIQ3_S, packIQ3_S>;
    case TensorType::IQ1_S:
        return superPacker<TensorType::IQ1_S, BlockIQ1_S, packIQ1_S>;
    case TensorType::IQ1_M:
        return superPacker<TensorType::IQ1_M, BlockIQ1_M, packIQ1_M>;
    case TensorType::TQ1_0:
        return superPacker<TensorType::TQ1_0, BlockTQ1_0, packTQ1_0>;
    default:
        return nullptr;
    }
}

} // namespace tokenloupe::cuda
