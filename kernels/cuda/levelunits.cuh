// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/weightunits.cuh"
#include "kernels/formats/superblocks.h"

// Formats of the types whose four bits are looked up in a list of levels. 18, 17.25, 17 and 18 bytes a unit.

namespace tokenloupe::cuda {

struct FormatIQ4_NL : UnitFormat
{
    static constexpr TensorType type = TensorType::IQ4_NL;
    static constexpr bool isSigned = true;
    struct Raw
    {
        uint4 codes;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint4>(planes.codes, unit), loadCached<std::uint16_t>(planes.scales, unit)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        constexpr std::uint32_t table[4] = {levelWord(iq4Levels, 0), levelWord(iq4Levels, 1),
                                            levelWord(iq4Levels, 2), levelWord(iq4Levels, 3)};
        unpackLevels(raw.codes, table, unit.words);
        unit.d = halfBitsToFloat(raw.d);
        unit.scale[0] = 1;
    }
};

struct FormatIQ4_XS : UnitFormat
{
    static constexpr TensorType type = TensorType::IQ4_XS;
    static constexpr bool isSigned = true;
    struct Raw
    {
        uint4 codes;
        std::int32_t scale;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint4>(planes.codes, unit), loadCached<std::int8_t>(planes.scales, unit),
                loadCached<std::uint16_t>(planes.supers, unit / superUnits)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        constexpr std::uint32_t table[4] = {levelWord(iq4Levels, 0), levelWord(iq4Levels, 1),
                                            levelWord(iq4Levels, 2), levelWord(iq4Levels, 3)};
        unpackLevels(raw.codes, table, unit.words);
        unit.d = halfBitsToFloat(raw.d);
        unit.scale[0] = raw.scale;
    }
};

struct FormatMXFP4 : UnitFormat
{
    static constexpr TensorType type = TensorType::MXFP4;
    static constexpr bool isSigned = true;
    struct Raw
    {
        uint4 codes;
        std::uint32_t exponent;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint4>(planes.codes, unit), loadCached<std::uint8_t>(planes.scales, unit)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        constexpr std::uint32_t table[4] = {levelWord(mxfp4Levels, 0), levelWord(mxfp4Levels, 1),
                                            levelWord(mxfp4Levels, 2), levelWord(mxfp4Levels, 3)};
        unpackLevels(raw.codes, table, unit.words);
        // 2^(exponent - 128): half of what it says, as the levels are doubled.
        unit.d = floatOfBits(raw.exponent < 2 ? 0x00200000U << raw.exponent : (raw.exponent - 1U) << 23);
        unit.scale[0] = 1;
    }
};

struct FormatNVFP4 : UnitFormat
{
    static constexpr TensorType type = TensorType::NVFP4;
    static constexpr bool isSigned = true;
    static constexpr bool hasHalves = true;
    static constexpr bool hasFloatHalves = true;
    struct Raw
    {
        uint4 codes;
        std::uint32_t scales;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint4>(planes.codes, unit), loadCached<std::uint16_t>(planes.scales, unit)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        constexpr std::uint32_t table[4] = {levelWord(mxfp4Levels, 0), levelWord(mxfp4Levels, 1),
                                            levelWord(mxfp4Levels, 2), levelWord(mxfp4Levels, 3)};
        unpackLevels(raw.codes, table, unit.words);
        unit.d = halfOfScale(raw.scales & 255U);
        unit.secondD = halfOfScale(raw.scales >> 8);
    }

private:
    /// Half of a number with four exponent and three mantissa bits and no sign; 127 is "not a number".
    __device__ static float halfOfScale(std::uint32_t bits)
    {
        const std::uint32_t exponent = bits >> 3 & 15U;
        const auto fraction = static_cast<float>(bits & 7U);
        if (bits == 127U)
            return 0.0F;
        return exponent == 0 ? fraction * 0x1p-10F
                             : (8.0F + fraction) * floatOfBits((exponent + 127U - 11U) << 23);
    }
};

} // namespace tokenloupe::cuda
