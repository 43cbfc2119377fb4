// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/formats/superblocks.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

// How each stored type becomes float32 in registers. V is one of the Vector types.
//
// note: everything is a template over V, also what does not need it, so that the code of each instruction set
// has names of its own and the linker cannot mix them up.

namespace tokenloupe::kernel {

/// Types whose values stand alone: `read` gives sixteen.
template <class V>
struct PlainF32
{
    static constexpr int valueBytes = 4;
    static typename V::Reg read(const std::byte *p) { return V::load(p); }
    static typename V::Reg readPart(const std::byte *p, int n) { return V::loadPart(p, n); }
};

template <class V>
struct PlainF16
{
    static constexpr int valueBytes = 2;
    static typename V::Reg read(const std::byte *p) { return V::loadHalf(p); }
    static typename V::Reg readPart(const std::byte *p, int n) { return V::loadHalfPart(p, n); }
};

template <class V>
struct PlainBF16
{
    static constexpr int valueBytes = 2;
    static typename V::Reg read(const std::byte *p) { return V::loadBfloat(p); }
    static typename V::Reg readPart(const std::byte *p, int n) { return V::loadBfloatPart(p, n); }
};

/// Blocks of 32: `read` gives columns 0 … 15 and 16 … 31. `scales` are the block's first `scaleCount` halves,
/// converted (they lead each block; converting them sixteen at a time is much cheaper than one by one).
template <class V>
struct QuantQ4_0
{
    using Block = BlockQ4_0;
    static constexpr int scaleCount = 1;
    static void read(const std::byte *p, const float *scales, typename V::Reg &low, typename V::Reg &high)
    {
        V::nibbles(p + offsetof(Block, q), V::all(scales[0]), V::all(-8.0F * scales[0]), low, high);
    }
};

template <class V>
struct QuantQ4_1
{
    using Block = BlockQ4_1;
    static constexpr int scaleCount = 2;
    static void read(const std::byte *p, const float *scales, typename V::Reg &low, typename V::Reg &high)
    {
        V::nibbles(p + offsetof(Block, q), V::all(scales[0]), V::all(scales[1]), low, high);
    }
};

template <class V>
struct QuantQ5_0
{
    using Block = BlockQ5_0;
    static constexpr int scaleCount = 1;
    static void read(const std::byte *p, const float *scales, typename V::Reg &low, typename V::Reg &high)
    {
        V::fiveBits(p + offsetof(Block, q), p + offsetof(Block, high), V::all(scales[0]),
                    V::all(-16.0F * scales[0]), low, high);
    }
};

template <class V>
struct QuantQ5_1
{
    using Block = BlockQ5_1;
    static constexpr int scaleCount = 2;
    static void read(const std::byte *p, const float *scales, typename V::Reg &low, typename V::Reg &high)
    {
        V::fiveBits(p + offsetof(Block, q), p + offsetof(Block, high), V::all(scales[0]), V::all(scales[1]),
                    low, high);
    }
};

template <class V>
struct QuantQ8_0
{
    using Block = BlockQ8_0;
    static constexpr int scaleCount = 1;
    static void read(const std::byte *p, const float *scales, typename V::Reg &low, typename V::Reg &high)
    {
        const typename V::Reg d = V::all(scales[0]);
        low = V::signedBytes(p + offsetof(Block, q), d);
        high = V::signedBytes(p + offsetof(Block, q) + 16, d);
    }
};

template <class V>
struct QuantIQ4_NL
{
    using Block = BlockIQ4_NL;
    static constexpr int scaleCount = 1;
    static void read(const std::byte *p, const float *scales, typename V::Reg &low, typename V::Reg &high)
    {
        V::Codes::levels(p + offsetof(Block, q), iq4Levels, V::all(scales[0]), low, high);
    }
};

template <class V>
struct QuantMXFP4
{
    using Block = BlockMXFP4;
    static constexpr int scaleCount = 1;
    static void read(const std::byte *p, const float *scales, typename V::Reg &low, typename V::Reg &high)
    {
        V::Codes::levels(p + offsetof(Block, q), mxfp4Levels, V::all(scales[0]), low, high);
    }
};

/// Blocks whose scales are converted together.
constexpr int scaleBatch = 64;

/// The scales of `count` (at most scaleBatch) blocks from `p` on, as float32. `out` has room for a full
/// batch.
template <class V, class Format>
void readScales(const std::byte *p, int count, float *out)
{
    constexpr int n = Format::scaleCount;
    if constexpr (std::is_same_v<typename Format::Block, BlockMXFP4>) {
        for (int b = 0; b < count; ++b)
            out[b] = halfOfExponent(std::to_integer<std::uint8_t>(p[b * std::int64_t(sizeof(BlockMXFP4))]));
        return;
    }
    alignas(64) std::uint16_t halves[scaleBatch * n];
    for (int b = 0; b < count; ++b)
        std::memcpy(halves + b * n, p + b * sizeof(typename Format::Block), n * sizeof(std::uint16_t));
    const int used = count * n;
    int i = 0;
    for (; i + 16 <= used; i += 16)
        V::store(out + i, V::loadHalf(halves + i));
    if (i < used)
        V::store(out + i, V::loadHalfPart(halves + i, used - i));
}

} // namespace tokenloupe::kernel
