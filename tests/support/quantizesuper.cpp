// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/quantizesuper.h"

#include "tests/support/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace tokenloupe::test {

namespace {

constexpr std::size_t superSize = 256;
using Values = std::span<const float>;
using Codes = std::array<int, superSize>;

int code(float value, int lowest, int highest)
{
    return static_cast<int>(
        std::clamp(std::nearbyint(value), static_cast<float>(lowest), static_cast<float>(highest)));
}

float largestOf(Values values)
{
    float largest = 0.0F;
    for (const float value : values)
        largest = std::max(largest, std::abs(value));
    return largest;
}

void byte(ByteWriter &out, int value)
{
    out.number(static_cast<std::uint8_t>(value));
}

/// Two-level scales: whole multiples of a shared unit, and the codes that go with what was rounded.
struct Scales
{
    float unit = 0.0F;
    float minimumUnit = 0.0F;
    std::vector<int> scales;
    std::vector<int> minima;
    Codes codes{};
};

/// w = unit · scale · code, codes in [-middle, middle), for groups of sixteen.
Scales symmetric(Values values, int highestScale, int middle)
{
    Scales result;
    result.unit = largestOf(values) / static_cast<float>(highestScale * (middle - 1));
    for (std::size_t first = 0; first < values.size(); first += 16) {
        const float needed = largestOf(values.subspan(first, 16)) / static_cast<float>(middle - 1);
        const int scale = result.unit == 0.0F ? 0 : code(std::ceil(needed / result.unit), 0, highestScale);
        result.scales.push_back(scale);
        for (std::size_t i = first; i < first + 16; ++i)
            result.codes[i] =
                scale == 0 ? 0
                           : code(values[i] / (result.unit * static_cast<float>(scale)), -middle, middle - 1);
    }
    return result;
}

/// w = unit · scale · code - minimumUnit · minimum, codes from 0, for groups of `size`.
Scales withMinima(Values values, std::size_t size, int highestScale, int highestCode)
{
    Scales result;
    const auto lowestOf = [&](std::size_t first) {
        const auto group = values.subspan(first, size);
        return std::min(0.0F, *std::min_element(group.begin(), group.end()));
    };
    const auto rangeOf = [&](std::size_t first) {
        const auto group = values.subspan(first, size);
        return std::max(0.0F, *std::max_element(group.begin(), group.end()) - lowestOf(first));
    };
    float range = 0.0F;
    float depth = 0.0F;
    for (std::size_t first = 0; first < values.size(); first += size) {
        range = std::max(range, rangeOf(first));
        depth = std::max(depth, -lowestOf(first));
    }
    result.unit = range / static_cast<float>(highestScale * highestCode);
    result.minimumUnit = depth / static_cast<float>(highestScale);
    for (std::size_t first = 0; first < values.size(); first += size) {
        const int scale =
            result.unit == 0.0F
                ? 0
                : code(std::ceil(rangeOf(first) / static_cast<float>(highestCode) / result.unit), 0,
                       highestScale);
        const int minimum =
            result.minimumUnit == 0.0F ? 0 : code(-lowestOf(first) / result.minimumUnit, 0, highestScale);
        result.scales.push_back(scale);
        result.minima.push_back(minimum);
        for (std::size_t i = first; i < first + size; ++i)
            result.codes[i] = scale == 0
                                  ? 0
                                  : code((values[i] + result.minimumUnit * static_cast<float>(minimum)) /
                                             (result.unit * static_cast<float>(scale)),
                                         0, highestCode);
    }
    return result;
}

/// Two bits of each code, four pieces of 32 to 32 bytes.
void appendTwoBits(ByteWriter &out, const Codes &codes)
{
    for (std::size_t half = 0; half < superSize; half += 128) {
        for (std::size_t i = half; i < half + 32; ++i)
            byte(out, (codes[i] & 3) | (codes[i + 32] & 3) << 2 | (codes[i + 64] & 3) << 4 |
                          (codes[i + 96] & 3) << 6);
    }
}

/// Bit `bit` of each code: bit p of byte i is for value i of piece p.
void appendBits(ByteWriter &out, const Codes &codes, int bit)
{
    for (std::size_t i = 0; i < 32; ++i) {
        int bits = 0;
        for (std::size_t piece = 0; piece < 8; ++piece)
            bits |= (codes[32 * piece + i] >> bit & 1) << piece;
        byte(out, bits);
    }
}

/// Low four bits of each code: bytes of `count`, the next `count` codes in their high halves.
void appendHalves(ByteWriter &out, const Codes &codes, std::size_t count)
{
    for (std::size_t first = 0; first < superSize; first += 2 * count) {
        for (std::size_t i = first; i < first + count; ++i)
            byte(out, (codes[i] & 15) | (codes[i + count] & 15) << 4);
    }
}

void appendQ2K(ByteWriter &out, Values values)
{
    const Scales scales = withMinima(values, 16, 15, 3);
    for (std::size_t i = 0; i < 16; ++i)
        byte(out, scales.scales[i] | scales.minima[i] << 4);
    appendTwoBits(out, scales.codes);
    out.number(halfOf(scales.unit)).number(halfOf(scales.minimumUnit));
}

void appendQ3K(ByteWriter &out, Values values)
{
    Scales scales = symmetric(values, 31, 4);
    for (int &value : scales.codes)
        value += 4;
    for (int &scale : scales.scales)
        scale += 32;
    appendBits(out, scales.codes, 2);
    appendTwoBits(out, scales.codes);
    for (std::size_t i = 0; i < 8; ++i)
        byte(out, (scales.scales[i] & 15) | (scales.scales[i + 8] & 15) << 4);
    for (std::size_t i = 0; i < 4; ++i)
        byte(out, scales.scales[i] >> 4 | scales.scales[i + 4] >> 4 << 2 | scales.scales[i + 8] >> 4 << 4 |
                      scales.scales[i + 12] >> 4 << 6);
    out.number(halfOf(scales.unit));
}

void appendSixBitScales(ByteWriter &out, const Scales &scales)
{
    out.number(halfOf(scales.unit)).number(halfOf(scales.minimumUnit));
    for (std::size_t i = 0; i < 4; ++i)
        byte(out, scales.scales[i] | scales.scales[i + 4] >> 4 << 6);
    for (std::size_t i = 0; i < 4; ++i)
        byte(out, scales.minima[i] | scales.minima[i + 4] >> 4 << 6);
    for (std::size_t i = 4; i < 8; ++i)
        byte(out, (scales.scales[i] & 15) | (scales.minima[i] & 15) << 4);
}

void appendQ4K(ByteWriter &out, Values values)
{
    const Scales scales = withMinima(values, 32, 63, 15);
    appendSixBitScales(out, scales);
    appendHalves(out, scales.codes, 32);
}

void appendQ5K(ByteWriter &out, Values values)
{
    const Scales scales = withMinima(values, 32, 63, 31);
    appendSixBitScales(out, scales);
    appendBits(out, scales.codes, 4);
    appendHalves(out, scales.codes, 32);
}

void appendQ6K(ByteWriter &out, Values values)
{
    Scales scales = symmetric(values, 127, 32);
    for (int &value : scales.codes)
        value += 32;
    appendHalves(out, scales.codes, 64);
    Codes high{};
    std::transform(scales.codes.begin(), scales.codes.end(), high.begin(), [](int c) { return c >> 4; });
    appendTwoBits(out, high);
    for (const int scale : scales.scales)
        out.number(static_cast<std::int8_t>(scale));
    out.number(halfOf(scales.unit));
}

void appendQ8K(ByteWriter &out, Values values)
{
    const float d = largestOf(values) / 127.0F;
    Codes codes{};
    for (std::size_t i = 0; i < superSize; ++i)
        codes[i] = d == 0.0F ? 0 : code(values[i] / d, -127, 127);
    out.number(d);
    for (const int value : codes)
        out.number(static_cast<std::int8_t>(value));
    for (std::size_t group = 0; group < superSize; group += 16) {
        int sum = 0;
        for (std::size_t i = group; i < group + 16; ++i)
            sum += codes[i];
        out.number(static_cast<std::int16_t>(sum));
    }
}

constexpr std::array<int, 16> iq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};
constexpr std::array<int, 16> fp4Values = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

int nearest(const std::array<int, 16> &levels, float value)
{
    int best = 0;
    for (int i = 1; i < 16; ++i) {
        const auto distance = [&](int level) {
            return std::abs(static_cast<float>(levels[static_cast<std::size_t>(level)]) - value);
        };
        if (distance(i) < distance(best))
            best = i;
    }
    return best;
}

void appendLevels(ByteWriter &out, const std::array<int, 16> &levels, Values values, float d)
{
    const auto level = [&](std::size_t i) { return d == 0.0F ? 0 : nearest(levels, values[i] / d); };
    for (std::size_t i = 0; i < 16; ++i)
        byte(out, level(i) | level(i + 16) << 4);
}

void appendIq4Nl(ByteWriter &out, Values values)
{
    const float d = largestOf(values) / 127.0F;
    out.number(halfOf(d));
    appendLevels(out, iq4Values, values, d);
}

void appendIq4Xs(ByteWriter &out, Values values)
{
    const float unit = largestOf(values) / (127.0F * 31.0F);
    std::array<int, 8> scales{};
    for (std::size_t piece = 0; piece < 8; ++piece)
        scales[piece] =
            unit == 0.0F
                ? 0
                : code(std::ceil(largestOf(values.subspan(32 * piece, 32)) / (127.0F * unit)), 0, 31);
    int high = 0;
    for (std::size_t piece = 0; piece < 8; ++piece)
        high |= (scales[piece] + 32) >> 4 << (2 * piece);
    out.number(halfOf(unit)).number(static_cast<std::uint16_t>(high));
    for (std::size_t piece = 0; piece < 8; piece += 2)
        byte(out, (scales[piece] & 15) | (scales[piece + 1] & 15) << 4);
    for (std::size_t piece = 0; piece < 8; ++piece)
        appendLevels(out, iq4Values, values.subspan(32 * piece, 32),
                     unit * static_cast<float>(scales[piece]));
}

void appendTq2(ByteWriter &out, Values values)
{
    const float d = largestOf(values);
    Codes codes{};
    for (std::size_t i = 0; i < superSize; ++i)
        codes[i] = 1 + (d == 0.0F ? 0 : code(values[i] / d, -1, 1));
    appendTwoBits(out, codes);
    out.number(halfOf(d));
}

void appendMxfp4(ByteWriter &out, Values values)
{
    const float largest = largestOf(values);
    const int exponent = largest == 0.0F ? -126 : std::max(-126, std::ilogb(largest) - 2);
    byte(out, exponent + 127);
    appendLevels(out, fp4Values, values, std::ldexp(0.5F, exponent));
}

struct SuperType
{
    std::uint32_t id;
    std::uint32_t values;
    void (*append)(ByteWriter &out, Values values);
};
constexpr SuperType superTypes[] = {{10, 256, appendQ2K},  {11, 256, appendQ3K},   {12, 256, appendQ4K},
                                    {13, 256, appendQ5K},  {14, 256, appendQ6K},   {15, 256, appendQ8K},
                                    {20, 32, appendIq4Nl}, {23, 256, appendIq4Xs}, {35, 256, appendTq2},
                                    {39, 32, appendMxfp4}};

const SuperType *find(std::uint32_t typeId)
{
    const auto *found = std::find_if(std::begin(superTypes), std::end(superTypes),
                                     [typeId](const SuperType &type) { return type.id == typeId; });
    return found == std::end(superTypes) ? nullptr : found;
}

} // namespace

std::uint32_t superBlockValuesOf(std::uint32_t typeId)
{
    const SuperType *type = find(typeId);
    return type ? type->values : 0;
}

void appendSuperBlock(ByteWriter &out, std::uint32_t typeId, std::span<const float> values)
{
    if (const SuperType *type = find(typeId))
        type->append(out, values);
}

} // namespace tokenloupe::test
