// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/unitpacking.h"
#include "kernels/formats/superblocks.h"

namespace tokenloupe::cuda {

namespace {

/// The 32 bytes and the shift where Q2_K, Q3_K and TQ2_0 have the two bits of a unit.
UnitFields twoBitsOf(const std::uint8_t (&q)[64], int unit)
{
    return fieldsFrom(q + unit / 4 * 32, unit % 4 * 2, 3);
}

/// The four bits of a unit where Q4_K and Q5_K have them.
UnitFields fourBitsOf(const std::uint8_t (&q)[128], int unit)
{
    return fieldsFrom(q + unit / 2 * 32, unit % 2 * 4, 15);
}

void packQ2_K(const BlockQ2_K &block, const UnitPlaces &first)
{
    forEachUnit<TensorType::Q2_K>(first, [&](int unit, const UnitPlaces &places) {
        storeTwoBits(twoBitsOf(block.q, unit), places.codes);
        std::memcpy(places.scales, block.scales + 2 * unit, 2);
    });
    storeValue(first.supers, block.d);
    storeValue(first.supers + 2, block.dmin);
}

void packQ3_K(const BlockQ3_K &block, const UnitPlaces &first)
{
    const auto scale = [&block](int group) {
        const int low = block.scales[group % 8] >> (group / 8 * 4) & 15;
        const int high = block.scales[8 + group % 4] >> (group / 4 * 2) & 3;
        return std::int8_t((low | high << 4) - 32);
    };
    forEachUnit<TensorType::Q3_K>(first, [&](int unit, const UnitPlaces &places) {
        storeTwoBits(twoBitsOf(block.q, unit), places.codes);
        storeOneBit(fieldsFrom(block.high, unit, 1), places.extra);
        storeValue(places.scales, scale(2 * unit));
        storeValue(places.scales + 1, scale(2 * unit + 1));
    });
    storeValue(first.supers, block.d);
}

/// Scale and minimum of a unit of Q4_K and Q5_K.
void storeSixBits(const std::uint8_t (&packed)[12], int unit, std::byte *out)
{
    int scale = packed[unit % 4] & 63;
    int minimum = packed[4 + unit % 4] & 63;
    if (unit >= 4) {
        scale = (packed[4 + unit] & 15) | packed[unit - 4] >> 6 << 4;
        minimum = packed[4 + unit] >> 4 | packed[unit] >> 6 << 4;
    }
    out[0] = std::byte(scale);
    out[1] = std::byte(minimum);
}

void packQ4_K(const BlockQ4_K &block, const UnitPlaces &first)
{
    forEachUnit<TensorType::Q4_K>(first, [&](int unit, const UnitPlaces &places) {
        storeFourBits(fourBitsOf(block.q, unit), places.codes);
        storeSixBits(block.scales, unit, places.scales);
    });
    storeValue(first.supers, block.d);
    storeValue(first.supers + 2, block.dmin);
}

void packQ5_K(const BlockQ5_K &block, const UnitPlaces &first)
{
    forEachUnit<TensorType::Q5_K>(first, [&](int unit, const UnitPlaces &places) {
        storeFourBits(fourBitsOf(block.q, unit), places.codes);
        storeOneBit(fieldsFrom(block.high, unit, 1), places.extra);
        storeSixBits(block.scales, unit, places.scales);
    });
    storeValue(first.supers, block.d);
    storeValue(first.supers + 2, block.dmin);
}

void packQ6_K(const BlockQ6_K &block, const UnitPlaces &first)
{
    forEachUnit<TensorType::Q6_K>(first, [&](int unit, const UnitPlaces &places) {
        const std::uint8_t *low = block.q + unit / 4 * 64 + unit % 2 * 32;
        storeFourBits(fieldsFrom(low, unit / 2 % 2 * 4, 15), places.codes);
        storeTwoBits(fieldsFrom(block.high + unit / 4 * 32, unit % 4 * 2, 3), places.extra);
        std::memcpy(places.scales, block.scales + 2 * unit, 2);
    });
    storeValue(first.supers, block.d);
}

void packQ8_K(const BlockQ8_K &block, const UnitPlaces &first)
{
    forEachUnit<TensorType::Q8_K>(first, [&](int unit, const UnitPlaces &places) {
        std::memcpy(places.codes, block.q + 32 * unit, 16);
        std::memcpy(places.extra, block.q + 32 * unit + 16, 16);
    });
    storeValue(first.supers, block.d);
}

void packIQ4_XS(const BlockIQ4_XS &block, const UnitPlaces &first)
{
    forEachUnit<TensorType::IQ4_XS>(first, [&](int unit, const UnitPlaces &places) {
        storeInOrder(block.q + 16 * unit, 16, places.codes);
        const int low = block.scalesLow[unit / 2] >> (unit % 2 * 4) & 15;
        const int high = block.scalesHigh >> (2 * unit) & 3;
        storeValue(places.scales, std::int8_t((low | high << 4) - 32));
    });
    storeValue(first.supers, block.d);
}

void packTQ2_0(const BlockTQ2_0 &block, const UnitPlaces &first)
{
    forEachUnit<TensorType::TQ2_0>(first, [&](int unit, const UnitPlaces &places) {
        storeTwoBits(twoBitsOf(block.q, unit), places.codes);
    });
    storeValue(first.supers, block.d);
}

} // namespace

BlockPacker superBlockPacker(TensorType type)
{
    switch (type) {
    case TensorType::Q2_K:
        return superPacker<TensorType::Q2_K, BlockQ2_K, packQ2_K>;
    case TensorType::Q3_K:
        return superPacker<TensorType::Q3_K, BlockQ3_K, packQ3_K>;
    case TensorType::Q4_K:
        return superPacker<TensorType::Q4_K, BlockQ4_K, packQ4_K>;
    case TensorType::Q5_K:
        return superPacker<TensorType::Q5_K, BlockQ5_K, packQ5_K>;
    case TensorType::Q6_K:
        return superPacker<TensorType::Q6_K, BlockQ6_K, packQ6_K>;
    case TensorType::Q8_K:
        return superPacker<TensorType::Q8_K, BlockQ8_K, packQ8_K>;
    case TensorType::IQ4_XS:
        return superPacker<TensorType::IQ4_XS, BlockIQ4_XS, packIQ4_XS>;
    case TensorType::TQ2_0:
        return superPacker<TensorType::TQ2_0, BlockTQ2_0, packTQ2_0>;
    default:
        return nullptr;
    }
}

} // namespace tokenloupe::cuda
