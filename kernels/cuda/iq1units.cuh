// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/codebookunits.cuh"
#include "kernels/formats/codebookcodesiq1.h"

// Formats of the IQ1 types: 6.25 and 7.25 bytes a unit. w = d / 8 · (2 · scale + 1) · (level ± 1 - 8).

namespace tokenloupe::cuda {

__device__ const CodebookCodes<2048> deviceIq1Codes = iq1Codes;

/// Group i of a unit, 9 too large.
__device__ inline void storeIq1Group(std::uint32_t index, std::uint32_t isNegative, int i, WeightUnit &unit)
{
    constexpr std::uint32_t table = levelTable(iq1Levels);
    const std::uint32_t raised = isNegative != 0 ? table : table + 0x00020202U;
    spreadTwoBits(deviceIq1Codes.codes[index], raised, unit.words + 2 * i);
}

__device__ inline std::int32_t oddThreeBits(std::uint32_t scale)
{
    return static_cast<std::int32_t>(2U * (scale & 7U) + 1U);
}

struct FormatIQ1_S : UnitFormat
{
    static constexpr TensorType type = TensorType::IQ1_S;
    static constexpr std::int32_t zero = 9;
    struct Raw
    {
        std::uint32_t codes;
        std::uint32_t high;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<std::uint32_t>(planes.codes, unit),
                loadCached<std::uint16_t>(planes.extra, unit),
                loadCached<std::uint16_t>(planes.supers, unit / superUnits)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            storeIq1Group((raw.codes >> (8 * i) & 255U) | (raw.high >> (3 * i) & 7U) << 8, raw.high >> 15, i,
                          unit);
        unit.d = 0.125F * halfBitsToFloat(raw.d);
        unit.scale[0] = oddThreeBits(raw.high >> 12);
    }
};

struct FormatIQ1_M : UnitFormat
{
    static constexpr TensorType type = TensorType::IQ1_M;
    static constexpr std::int32_t zero = 9;
    static constexpr bool hasHalves = true;
    struct Raw
    {
        std::uint32_t codes;
        std::uint32_t high;
        std::uint32_t scales;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<std::uint32_t>(planes.codes, unit),
                loadCached<std::uint16_t>(planes.extra, unit), loadCached<std::uint8_t>(planes.scales, unit),
                loadCached<std::uint16_t>(planes.supers, unit / superUnits)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const std::uint32_t high = raw.high >> (4 * i) & 15U;
            storeIq1Group((raw.codes >> (8 * i) & 255U) | (high & 7U) << 8, high >> 3, i, unit);
        }
        unit.d = 0.125F * halfBitsToFloat(raw.d);
        unit.scale[0] = oddThreeBits(raw.scales);
        unit.scale[1] = oddThreeBits(raw.scales >> 4);
    }
};

} // namespace tokenloupe::cuda
