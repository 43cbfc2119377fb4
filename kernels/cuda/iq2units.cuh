// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/codebookunits.cuh"
#include "kernels/formats/codebookcodesiq2.h"

// Formats of the IQ2 types: 8.25, 9.25 and 10.25 bytes a unit. w = d / 8 · (2 · scale + 1) · ± level.

namespace tokenloupe::cuda {

__device__ const CodebookCodes<256> deviceIq2xxsCodes = iq2xxsCodes;
__device__ const CodebookCodes<512> deviceIq2xsCodes = iq2xsCodes;
__device__ const CodebookCodes<1024> deviceIq2sCodes = iq2sCodes;

/// Group i of a unit.
__device__ inline void storeIq2Group(std::uint32_t code, std::uint32_t signs, int i, WeightUnit &unit)
{
    constexpr std::uint32_t table = levelTable(iq2Levels);
    spreadTwoBits(code, table, unit.words + 2 * i);
    unit.words[2 * i] = withSigns(unit.words[2 * i], signs);
    unit.words[2 * i + 1] = withSigns(unit.words[2 * i + 1], signs >> 4);
}

__device__ inline std::int32_t oddScale(std::uint32_t scale)
{
    return static_cast<std::int32_t>(2U * (scale & 15U) + 1U);
}

struct FormatIQ2_XXS : UnitFormat
{
    static constexpr TensorType type = TensorType::IQ2_XXS;
    static constexpr bool isSigned = true;
    struct Raw
    {
        uint2 codes;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint2>(planes.codes, unit),
                loadCached<std::uint16_t>(planes.supers, unit / superUnits)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            storeIq2Group(deviceIq2xxsCodes.codes[raw.codes.x >> (8 * i) & 255U],
                          evenSigns(raw.codes.y >> (7 * i) & 127U), i, unit);
        unit.d = 0.125F * halfBitsToFloat(raw.d);
        unit.scale[0] = oddScale(raw.codes.y >> 28);
    }
};

struct FormatIQ2_XS : UnitFormat
{
    static constexpr TensorType type = TensorType::IQ2_XS;
    static constexpr bool isSigned = true;
    static constexpr bool hasHalves = true;
    struct Raw
    {
        uint2 codes;
        std::uint32_t scales;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint2>(planes.codes, unit), loadCached<std::uint8_t>(planes.scales, unit),
                loadCached<std::uint16_t>(planes.supers, unit / superUnits)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const std::uint32_t word = (i < 2 ? raw.codes.x : raw.codes.y) >> (i % 2 * 16) & 0xFFFFU;
            storeIq2Group(deviceIq2xsCodes.codes[word & 511U], evenSigns(word >> 9), i, unit);
        }
        unit.d = 0.125F * halfBitsToFloat(raw.d);
        unit.scale[0] = oddScale(raw.scales);
        unit.scale[1] = oddScale(raw.scales >> 4);
    }
};

struct FormatIQ2_S : UnitFormat
{
    static constexpr TensorType type = TensorType::IQ2_S;
    static constexpr bool isSigned = true;
    static constexpr bool hasHalves = true;
    struct Raw
    {
        uint2 codes;
        std::uint32_t scales;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint2>(planes.codes, unit), loadCached<std::uint16_t>(planes.scales, unit),
                loadCached<std::uint16_t>(planes.supers, unit / superUnits)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const std::uint32_t index = (raw.codes.x >> (8 * i) & 255U) | (raw.scales >> (2 * i) & 3U) << 8;
            storeIq2Group(deviceIq2sCodes.codes[index], raw.codes.y >> (8 * i) & 255U, i, unit);
        }
        unit.d = 0.125F * halfBitsToFloat(raw.d);
        unit.scale[0] = oddScale(raw.scales >> 8);
        unit.scale[1] = oddScale(raw.scales >> 12);
    }
};

} // namespace tokenloupe::cuda
