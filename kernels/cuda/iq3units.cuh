// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/codebookunits.cuh"
#include "kernels/formats/codebookcodesiq3.h"

// Formats of the IQ3 types: 12.25 and 14.25 bytes a unit. w = d · (2 · scale + 1) · ± level (IQ3_XXS: a
// fourth).

namespace tokenloupe::cuda {

__device__ const CodebookCodes<256> deviceIq3xxsCodes = iq3xxsCodes;
__device__ const CodebookCodes<512> deviceIq3sCodes = iq3sCodes;

struct FormatIQ3_XXS : UnitFormat
{
    static constexpr TensorType type = TensorType::IQ3_XXS;
    static constexpr bool isSigned = true;
    struct Raw
    {
        uint2 codes;
        std::uint32_t signs;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint2>(planes.codes, unit), loadStreaming<std::uint32_t>(planes.extra, unit),
                loadCached<std::uint16_t>(planes.supers, unit / superUnits)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        constexpr std::uint32_t low = levelTable(iq3xxsLevels);
        constexpr std::uint32_t high = levelTable(iq3xxsLevels + 4);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const std::uint32_t index = (j < 4 ? raw.codes.x : raw.codes.y) >> (j % 4 * 8) & 255U;
            const std::uint32_t signs = evenSigns(raw.signs >> (j / 2 * 7) & 127U) >> (j % 2 * 4);
            unit.words[j] = withSigns(spreadThreeBits(deviceIq3xxsCodes.codes[index], low, high), signs);
        }
        unit.d = 0.25F * halfBitsToFloat(raw.d);
        unit.scale[0] = static_cast<std::int32_t>(2U * (raw.signs >> 28) + 1U);
    }
};

struct FormatIQ3_S : UnitFormat
{
    static constexpr TensorType type = TensorType::IQ3_S;
    static constexpr bool isSigned = true;
    struct Raw
    {
        uint2 codes;
        std::uint32_t signs;
        std::uint32_t scales;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint2>(planes.codes, unit), loadStreaming<std::uint32_t>(planes.extra, unit),
                loadCached<std::uint16_t>(planes.scales, unit),
                loadCached<std::uint16_t>(planes.supers, unit / superUnits)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        constexpr std::uint32_t low = levelTable(iq3sLevels);
        constexpr std::uint32_t high = levelTable(iq3sLevels + 4);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const std::uint32_t index =
                ((j < 4 ? raw.codes.x : raw.codes.y) >> (j % 4 * 8) & 255U) | (raw.scales >> j & 1U) << 8;
            unit.words[j] =
                withSigns(spreadThreeBits(deviceIq3sCodes.codes[index], low, high), raw.signs >> (4 * j));
        }
        unit.d = halfBitsToFloat(raw.d);
        unit.scale[0] = static_cast<std::int32_t>(2U * (raw.scales >> 8) + 1U);
    }
};

} // namespace tokenloupe::cuda
