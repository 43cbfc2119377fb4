// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/weightunits.cuh"

// Formats of the types whose weights are -1, 0 or 1 times a scale: 6.75 and 8.25 bytes a unit.

namespace tokenloupe::cuda {

struct FormatTQ1_0 : UnitFormat
{
    static constexpr TensorType type = TensorType::TQ1_0;
    static constexpr std::int32_t zero = 1;
    struct Raw
    {
        std::uint32_t four;
        std::uint32_t two;
        std::uint32_t last;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        const std::uint32_t pair = loadCached<std::uint8_t>(planes.scales, unit / 2);
        return {loadStreaming<std::uint32_t>(planes.codes, unit),
                loadCached<std::uint16_t>(planes.extra, unit), pair >> (unit % 2 * 4) & 15U,
                loadCached<std::uint16_t>(planes.supers, unit / superUnits)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        // Four bytes as two times two fractions of 256, each with room above it for the digit.
        constexpr std::uint32_t lowBytes = 0x00FF00FFU;
        std::uint32_t even = raw.four & lowBytes;
        std::uint32_t odd = raw.four >> 8 & lowBytes;
#pragma unroll
        for (int j = 0; j < 5; ++j) {
            even *= 3U;
            odd *= 3U;
            unit.words[j] = (even >> 8 & lowBytes) | (odd & ~lowBytes);
            even &= lowBytes;
            odd &= lowBytes;
        }
        // The other two bytes in the same way, two digits of each to a word.
        std::uint32_t both = (raw.two & 255U) | (raw.two & 0xFF00U) << 8;
        std::uint32_t pairs[5];
#pragma unroll
        for (int i = 0; i < 5; ++i) {
            both *= 3U;
            const std::uint32_t digits = both >> 8 & lowBytes;
            pairs[i] = (digits | digits >> 8) & 0xFFFFU;
            both &= lowBytes;
        }
        unit.words[5] = pairs[0] | pairs[1] << 16;
        unit.words[6] = pairs[2] | pairs[3] << 16;
        unit.words[7] = pairs[4] | (raw.last & 3U) << 16 | (raw.last & 12U) << 22;
        unit.d = halfBitsToFloat(raw.d);
        unit.scale[0] = 1;
    }
};

struct FormatTQ2_0 : UnitFormat
{
    static constexpr TensorType type = TensorType::TQ2_0;
    static constexpr std::int32_t zero = 1;
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
        unpackTwoBits(raw.codes, unit.words);
        unit.d = halfBitsToFloat(raw.d);
        unit.scale[0] = 1;
    }
};

} // namespace tokenloupe::cuda
