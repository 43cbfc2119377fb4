// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/weightunits.cuh"

// Formats of the types with blocks of 32 and one scale. Bytes of weights that a lane loads for a unit are the
// file's: 18 (Q4_0), 20, 22, 24, 34 (Q8_0).

namespace tokenloupe::cuda {

struct FormatQ4_0 : UnitFormat
{
    static constexpr TensorType type = TensorType::Q4_0;
    static constexpr std::int32_t zero = 8;
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
        unpackFourBits(raw.codes, unit.words);
        unit.d = halfBitsToFloat(raw.d);
        unit.scale[0] = 1;
    }
};

struct FormatQ4_1 : UnitFormat
{
    static constexpr TensorType type = TensorType::Q4_1;
    static constexpr bool hasOffset = true;
    struct Raw
    {
        uint4 codes;
        std::uint32_t scales;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint4>(planes.codes, unit), loadCached<std::uint32_t>(planes.scales, unit)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        unpackFourBits(raw.codes, unit.words);
        unit.d = halfBitsToFloat(raw.scales);
        unit.offset = halfBitsToFloat(raw.scales >> 16);
        unit.scale[0] = 1;
        unit.minimum[0] = 1;
    }
};

struct FormatQ5_0 : UnitFormat
{
    static constexpr TensorType type = TensorType::Q5_0;
    static constexpr std::int32_t zero = 16;
    struct Raw
    {
        uint4 codes;
        std::uint32_t fifth;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint4>(planes.codes, unit), loadStreaming<std::uint32_t>(planes.extra, unit),
                loadCached<std::uint16_t>(planes.scales, unit)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        unpackFourBits(raw.codes, unit.words);
        addOneBit<4>(raw.fifth, unit.words);
        unit.d = halfBitsToFloat(raw.d);
        unit.scale[0] = 1;
    }
};

struct FormatQ5_1 : UnitFormat
{
    static constexpr TensorType type = TensorType::Q5_1;
    static constexpr bool hasOffset = true;
    struct Raw
    {
        uint4 codes;
        std::uint32_t fifth;
        std::uint32_t scales;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint4>(planes.codes, unit), loadStreaming<std::uint32_t>(planes.extra, unit),
                loadCached<std::uint32_t>(planes.scales, unit)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        unpackFourBits(raw.codes, unit.words);
        addOneBit<4>(raw.fifth, unit.words);
        unit.d = halfBitsToFloat(raw.scales);
        unit.offset = halfBitsToFloat(raw.scales >> 16);
        unit.scale[0] = 1;
        unit.minimum[0] = 1;
    }
};

struct FormatQ8_0 : UnitFormat
{
    static constexpr TensorType type = TensorType::Q8_0;
    static constexpr bool isSigned = true;
    struct Raw
    {
        uint4 first;
        uint4 second;
        std::uint32_t d;
    };
    __device__ static Raw load(const WeightPlanes &planes, std::int32_t unit)
    {
        return {loadStreaming<uint4>(planes.codes, unit), loadStreaming<uint4>(planes.extra, unit),
                loadCached<std::uint16_t>(planes.scales, unit)};
    }
    __device__ static void unpack(const Raw &raw, WeightUnit &unit)
    {
        unpackBytes(raw.first, raw.second, unit.words);
        unit.d = halfBitsToFloat(raw.d);
        unit.scale[0] = 1;
    }
};

} // namespace tokenloupe::cuda
