// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/weightplanes.h"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

// Device side of the layout in weightplanes.h: a lane loads a unit of 32 columns, decodes it to bytes, and
// multiplies by these as integers or turns them to float32.
//
// A format is a struct with
//   Raw                  what a unit is in registers as it was loaded
//   load(planes, unit)   its loads, and nothing else: so that those of several rows are in flight together
//   unpack(raw)          → WeightUnit
//   zero, isSigned, hasHalves, hasFloatHalves, hasOffset: see WeightUnit

namespace tokenloupe::cuda {

struct WeightPlanes
{
    const std::byte *codes;
    const std::byte *extra;
    const std::byte *scales;
    const std::byte *supers;
};

__device__ inline WeightPlanes planesAt(const std::byte *data, const PlaneOffsets &offsets)
{
    return {data, data + offsets.extra, data + offsets.scales, data + offsets.supers};
}

/// 32 weights: of column c, in half h = c / 16,
///   w = d · scale[h] · (byte c of words - zero) + offset · minimum[h]
/// hasHalves: scale[1] and minimum[1] differ from [0]; else only [0] are set and hold for all 32 columns.
/// hasFloatHalves: the second half's d is secondD, scales are 1. hasOffset: the second term exists.
/// isSigned: the bytes have signs. Scales and codes are so small that |Σ scale · code · activation| stays
/// below 2^31 for the 15-bit activations.
struct WeightUnit
{
    std::uint32_t words[8];
    std::int32_t scale[2];
    std::int32_t minimum[2];
    float d;
    float secondD;
    float offset;
};

/// What most formats have in common; they override what differs.
struct UnitFormat
{
    static constexpr std::int32_t zero = 0;
    static constexpr bool isSigned = false;
    static constexpr bool hasHalves = false;
    static constexpr bool hasFloatHalves = false;
    static constexpr bool hasOffset = false;
};

/// Weights are read once: they should not push activations out of the first cache.
template <class T>
__device__ inline T loadStreaming(const std::byte *plane, std::int32_t index)
{
    return __ldcs(reinterpret_cast<const T *>(plane) + index);
}

/// Small things that neighbours or the next step read too.
template <class T>
__device__ inline T loadCached(const std::byte *plane, std::int32_t index)
{
    return reinterpret_cast<const T *>(plane)[index];
}

__device__ inline float halfBitsToFloat(std::uint32_t bits)
{
    return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}

__device__ inline float floatOfBits(std::uint32_t bits)
{
    return __uint_as_float(bits);
}

__device__ inline std::int32_t signedByte(std::uint32_t word, int index)
{
    return static_cast<std::int8_t>(word >> (8 * index));
}

constexpr std::uint32_t lowHalfBytes = 0x0F0F0F0FU;

/// "4 bits, halves" of weightplanes.h.
__device__ inline void unpackFourBits(const uint4 &codes, std::uint32_t (&words)[8])
{
    const std::uint32_t stored[4] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        words[j] = stored[j] & lowHalfBytes;
        words[j + 4] = stored[j] >> 4 & lowHalfBytes;
    }
}

__device__ inline void unpackTwoBits(const uint2 &codes, std::uint32_t (&words)[8])
{
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        words[j] = codes.x >> (2 * j) & 0x03030303U;
        words[j + 4] = codes.y >> (2 * j) & 0x03030303U;
    }
}

/// Puts one more bit, the `place`-th of a byte, into the words.
template <int place>
__device__ inline void addOneBit(std::uint32_t bits, std::uint32_t (&words)[8])
{
    constexpr std::uint32_t mask = 0x01010101U << place;
#pragma unroll
    for (int j = 0; j < 8; ++j)
        words[j] |= (j < place ? bits << (place - j) : bits >> (j - place)) & mask;
}

__device__ inline void unpackBytes(const uint4 &first, const uint4 &second, std::uint32_t (&words)[8])
{
    words[0] = first.x;
    words[1] = first.y;
    words[2] = first.z;
    words[3] = first.w;
    words[4] = second.x;
    words[5] = second.y;
    words[6] = second.z;
    words[7] = second.w;
}

/// "4 bits, in order", looked up in a table of sixteen bytes.
__device__ inline void unpackLevels(const uint4 &codes, const std::uint32_t (&table)[4],
                                    std::uint32_t (&words)[8])
{
    const std::uint32_t stored[4] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        const std::uint32_t four = stored[j / 2] >> (j % 2 * 16);
        const std::uint32_t places = four & 0x7777U;
        const std::uint32_t low = __byte_perm(table[0], table[1], places);
        const std::uint32_t high = __byte_perm(table[2], table[3], places);
        // The codes' upper bits choose between the halves of the table.
        words[j] = __byte_perm(low, high, 0x3210U | (four >> 1 & 0x4444U));
    }
}

/// Bytes [4i, 4i + 4) of a table of levels as a word.
__host__ __device__ constexpr std::uint32_t levelWord(const std::int8_t (&levels)[16], int i)
{
    return static_cast<std::uint8_t>(levels[4 * i]) |
           static_cast<std::uint32_t>(static_cast<std::uint8_t>(levels[4 * i + 1])) << 8 |
           static_cast<std::uint32_t>(static_cast<std::uint8_t>(levels[4 * i + 2])) << 16 |
           static_cast<std::uint32_t>(static_cast<std::uint8_t>(levels[4 * i + 3])) << 24;
}

/// d · scale of a half, exact in float32.
template <class Format>
__device__ inline float scaleOf(const WeightUnit &unit, int half)
{
    if (Format::hasFloatHalves)
        return half != 0 ? unit.secondD : unit.d;
    return unit.d * static_cast<float>(Format::hasHalves && half != 0 ? unit.scale[1] : unit.scale[0]);
}

template <class Format>
__device__ inline float offsetOf(const WeightUnit &unit, int half)
{
    if (!Format::hasOffset)
        return 0.0F;
    return unit.offset *
           static_cast<float>(Format::hasHalves && half != 0 ? unit.minimum[1] : unit.minimum[0]);
}

/// A word of a unit as four weights in float32, with one rounding at most.
template <class Format>
__device__ inline void decodeWord(std::uint32_t word, float scale, float offset, float (&weights)[4])
{
    // A byte under the upper bytes of 2^23 is 2^23 + byte: no conversion, of which there are few a cycle.
    constexpr float magic = 8388608.0F;
    constexpr float base = magic + static_cast<float>(Format::zero + (Format::isSigned ? 128 : 0));
    const std::uint32_t bytes = Format::isSigned ? word ^ 0x80808080U : word;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        const float code = floatOfBits(__byte_perm(bytes, 0x4B000000U, 0x7540U | i)) - base;
        weights[i] = Format::hasOffset ? fmaf(code, scale, offset) : code * scale;
    }
}

} // namespace tokenloupe::cuda
