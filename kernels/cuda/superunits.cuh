// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/weightunits.cuh"

// Formats of the types with two levels of scales. Bytes a unit: 10.5 (Q2_K), 14.25 (Q3_K), 18.5, 22.5, 26.25
// (Q6_K).

namespace tokenloupe::cuda {

struct FormatQ2_K : UnitFormat
{
    static constexpr TensorType type = TensorType::Q2_K;
    static constexpr bool hasHalves = true;
    static constexpr bool hasOffset = true;
    struct Raw
    {
        uint2 codes;
        std::uint32_t scales;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint2>(planes.codes, unit), loadCached<std::uint16_t>(planes.scales, unit),
                loadCached<std::uint32_t>(planes.supers, unit / superUnits)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        unpackTwoBits(raw.codes, unit.words);
        unit.d = halfBitsToFloat(raw.d);
        unit.offset = -halfBitsToFloat(raw.d >> 16);
        unit.scale[0] = static_cast<std::int32_t>(raw.scales & 15U);
        unit.minimum[0] = static_cast<std::int32_t>(raw.scales >> 4 & 15U);
        unit.scale[1] = static_cast<std::int32_t>(raw.scales >> 8 & 15U);
        unit.minimum[1] = static_cast<std::int32_t>(raw.scales >> 12);
    }
};

struct FormatQ3_K : UnitFormat
{
    static constexpr TensorType type = TensorType::Q3_K;
    static constexpr std::int32_t zero = 4;
    static constexpr bool hasHalves = true;
    struct Raw
    {
        uint2 codes;
        std::uint32_t third;
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
        unpackTwoBits(raw.codes, unit.words);
        addOneBit<2>(raw.third, unit.words);
        unit.d = halfBitsToFloat(raw.d);
        unit.scale[0] = signedByte(raw.scales, 0);
        unit.scale[1] = signedByte(raw.scales, 1);
    }
};

struct FormatQ4_K : UnitFormat
{
    static constexpr TensorType type = TensorType::Q4_K;
    static constexpr bool hasOffset = true;
    struct Raw
    {
        uint4 codes;
        std::uint32_t scales;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint4>(planes.codes, unit), loadCached<std::uint16_t>(planes.scales, unit),
                loadCached<std::uint32_t>(planes.supers, unit / superUnits)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        unpackFourBits(raw.codes, unit.words);
        unit.d = halfBitsToFloat(raw.d);
        unit.offset = -halfBitsToFloat(raw.d >> 16);
        unit.scale[0] = static_cast<std::int32_t>(raw.scales & 255U);
        unit.minimum[0] = static_cast<std::int32_t>(raw.scales >> 8);
    }
};

struct FormatQ5_K : UnitFormat
{
    static constexpr TensorType type = TensorType::Q5_K;
    static constexpr bool hasOffset = true;
    struct Raw
    {
        uint4 codes;
        std::uint32_t fifth;
        std::uint32_t scales;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint4>(planes.codes, unit), loadStreaming<std::uint32_t>(planes.extra, unit),
                loadCached<std::uint16_t>(planes.scales, unit),
                loadCached<std::uint32_t>(planes.supers, unit / superUnits)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        unpackFourBits(raw.codes, unit.words);
        addOneBit<4>(raw.fifth, unit.words);
        unit.d = halfBitsToFloat(raw.d);
        unit.offset = -halfBitsToFloat(raw.d >> 16);
        unit.scale[0] = static_cast<std::int32_t>(raw.scales & 255U);
        unit.minimum[0] = static_cast<std::int32_t>(raw.scales >> 8);
    }
};

struct FormatQ6_K : UnitFormat
{
    static constexpr TensorType type = TensorType::Q6_K;
    static constexpr std::int32_t zero = 32;
    static constexpr bool hasHalves = true;
    struct Raw
    {
        uint4 codes;
        uint2 upper;
        std::uint32_t scales;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint4>(planes.codes, unit), loadStreaming<uint2>(planes.extra, unit),
                loadCached<std::uint16_t>(planes.scales, unit),
                loadCached<std::uint16_t>(planes.supers, unit / superUnits)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        unpackFourBits(raw.codes, unit.words);
        constexpr std::uint32_t mask = 0x30303030U;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            unit.words[j] |= (j < 2 ? raw.upper.x << (4 - 2 * j) : raw.upper.x >> (2 * j - 4)) & mask;
            unit.words[j + 4] |= (j < 2 ? raw.upper.y << (4 - 2 * j) : raw.upper.y >> (2 * j - 4)) & mask;
        }
        unit.d = halfBitsToFloat(raw.d);
        unit.scale[0] = signedByte(raw.scales, 0);
        unit.scale[1] = signedByte(raw.scales, 1);
    }
};

struct FormatQ8_K : UnitFormat
{
    static constexpr TensorType type = TensorType::Q8_K;
    static constexpr bool isSigned = true;
    struct Raw
    {
        uint4 first;
        uint4 second;
        float d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint4>(planes.codes, unit), loadStreaming<uint4>(planes.extra, unit),
                loadCached<float>(planes.supers, unit / superUnits)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        unpackBytes(raw.first, raw.second, unit.words);
        unit.d = raw.d;
        unit.scale[0] = 1;
    }
};

} // namespace tokenloupe::cuda
