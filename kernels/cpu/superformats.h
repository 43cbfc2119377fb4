// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/weightformats.h"
#include "kernels/formats/superblocks.h"

// How the types with blocks of 256 and two levels of scales become float32 in registers, see superkernels.h.

namespace tokenloupe::kernel {

template <class V>
struct SuperFormat
{
    static constexpr int blockValues = superBlockValues;
    struct Scratch
    {
        alignas(64) float scales[32];
    };
    using Codes = typename V::Codes;
    using Bytes = typename Codes::Bytes;
    using Reg = typename V::Reg;

    /// A strip whose groups of sixteen have the scales d[0 … 4).
    [[gnu::always_inline]] static void scaleSixteens(Bytes first, Bytes second, const float *d, Reg *w)
    {
        Codes::scale(first, V::all(d[0]), V::all(d[1]), w[0], w[1]);
        Codes::scale(second, V::all(d[2]), V::all(d[3]), w[2], w[3]);
    }
};

template <class V>
struct SuperQ2_K : SuperFormat<V>
{
    using Block = BlockQ2_K;
    using typename SuperFormat<V>::Scratch;
    using typename SuperFormat<V>::Codes;
    using typename SuperFormat<V>::Bytes;
    using typename SuperFormat<V>::Reg;

    static void prepare(const std::byte *p, Scratch &scratch)
    {
        const Reg d = V::all(Codes::half(p + offsetof(Block, d)));
        const Reg dmin = V::all(0.0F - Codes::half(p + offsetof(Block, dmin)));
        Reg scales;
        Reg minima;
        Codes::nibbles(p + offsetof(Block, scales), d, V::zero(), dmin, V::zero(), scales, minima);
        V::store(scratch.scales, scales);
        V::store(scratch.scales + 16, minima);
    }
    template <int strip>
    [[gnu::always_inline]] static void read(const std::byte *p, const Scratch &scratch, Reg *w)
    {
        constexpr int shift = strip % 2 * 4;
        const Bytes q = Codes::load(p + offsetof(Block, q) + strip / 2 * 32);
        const float *d = scratch.scales + 4 * strip;
        const float *m = d + 16;
        Codes::scaleAdd(Codes::template moved<shift>(q, 3), V::all(d[0]), V::all(m[0]), V::all(d[1]),
                        V::all(m[1]), w[0], w[1]);
        Codes::scaleAdd(Codes::template moved<shift + 2>(q, 3), V::all(d[2]), V::all(m[2]), V::all(d[3]),
                        V::all(m[3]), w[2], w[3]);
    }
};

template <class V>
struct SuperQ3_K : SuperFormat<V>
{
    using Block = BlockQ3_K;
    using typename SuperFormat<V>::Scratch;
    using typename SuperFormat<V>::Codes;
    using typename SuperFormat<V>::Bytes;
    using typename SuperFormat<V>::Reg;

    static void prepare(const std::byte *p, Scratch &scratch)
    {
        constexpr std::uint64_t lowBits = 0x0F0F0F0F0F0F0F0FULL;
        std::uint64_t low = 0;
        std::uint32_t high = 0;
        std::memcpy(&low, p + offsetof(Block, scales), sizeof low);
        std::memcpy(&high, p + offsetof(Block, scales) + sizeof low, sizeof high);
        // Bits 2k and 2k + 1 of the four bytes of `high` belong to the scales 4k … 4k + 3.
        const auto pair = [high](int k) { return std::uint64_t(high >> (2 * k) & 0x03030303U) << 4; };
        const Reg six = Codes::scaleWords((low & lowBits) | pair(0) | pair(1) << 32,
                                          (low >> 4 & lowBits) | pair(2) | pair(3) << 32, V::all(1.0F));
        const Reg d = V::all(Codes::half(p + offsetof(Block, d)));
        V::store(scratch.scales, V::multiply(V::subtract(six, V::all(32.0F)), d));
    }
    template <int strip>
    [[gnu::always_inline]] static void read(const std::byte *p, const Scratch &scratch, Reg *w)
    {
        constexpr int shift = strip % 2 * 4;
        const Bytes q = Codes::load(p + offsetof(Block, q) + strip / 2 * 32);
        const Bytes high = Codes::load(p + offsetof(Block, high));
        const Bytes first =
            Codes::either(Codes::template moved<shift>(q, 3), Codes::template moved<2 * strip - 2>(high, 4));
        const Bytes second = Codes::either(Codes::template moved<shift + 2>(q, 3),
                                           Codes::template moved<2 * strip - 1>(high, 4));
        SuperFormat<V>::scaleSixteens(Codes::less(first, 4), Codes::less(second, 4),
                                      scratch.scales + 4 * strip, w);
    }
};

/// Scales of Q4_K and Q5_K: d · scale of the eight pieces in out[0 … 8), dmin · minimum in out[24 … 32).
template <class V>
void prepareSixBits(const std::byte *packed, float d, float dmin, float *out)
{
    constexpr std::uint32_t four = 0x0F0F0F0FU;
    constexpr std::uint32_t six = 0x3F3F3F3FU;
    // Six bits each: scales 0 … 3 and minima 0 … 3 in the bytes 0 … 3 and 4 … 7. Of 4 … 7 the low four bits
    // are in the bytes 8 … 11 (the minimum's above the scale's), the high two above those of their
    // predecessors.
    std::uint32_t words[3];
    std::memcpy(words, packed, sizeof words);
    const auto joined = [](std::uint32_t first, std::uint32_t second) {
        return first | std::uint64_t(second) << 32;
    };
    const std::uint64_t scales = joined(words[0] & six, (words[2] & four) | (words[0] >> 2 & 0x30303030U));
    const std::uint64_t minima =
        joined(words[1] & six, (words[2] >> 4 & four) | (words[1] >> 2 & 0x30303030U));
    V::store(out, V::Codes::scaleWords(scales, minima, V::all(d)));
    V::store(out + 16, V::Codes::scaleWords(scales, minima, V::all(dmin)));
}

template <class V>
struct SuperQ4_K : SuperFormat<V>
{
    using Block = BlockQ4_K;
    using typename SuperFormat<V>::Scratch;
    using typename SuperFormat<V>::Codes;
    using typename SuperFormat<V>::Reg;

    static void prepare(const std::byte *p, Scratch &scratch)
    {
        prepareSixBits<V>(p + offsetof(Block, scales), Codes::half(p + offsetof(Block, d)),
                          0.0F - Codes::half(p + offsetof(Block, dmin)), scratch.scales);
    }
    template <int strip>
    [[gnu::always_inline]] static void read(const std::byte *p, const Scratch &scratch, Reg *w)
    {
        const std::byte *q = p + offsetof(Block, q) + 32 * strip;
        const float *d = scratch.scales + 2 * strip;
        const Reg dLow = V::all(d[0]);
        const Reg dHigh = V::all(d[1]);
        const Reg mLow = V::all(d[24]);
        const Reg mHigh = V::all(d[25]);
        Codes::nibbles(q, dLow, mLow, dHigh, mHigh, w[0], w[2]);
        Codes::nibbles(q + 16, dLow, mLow, dHigh, mHigh, w[1], w[3]);
    }
};

template <class V>
struct SuperQ5_K : SuperFormat<V>
{
    using Block = BlockQ5_K;
    using typename SuperFormat<V>::Scratch;
    using typename SuperFormat<V>::Codes;
    using typename SuperFormat<V>::Bytes;
    using typename SuperFormat<V>::Reg;

    static void prepare(const std::byte *p, Scratch &scratch)
    {
        prepareSixBits<V>(p + offsetof(Block, scales), Codes::half(p + offsetof(Block, d)),
                          0.0F - Codes::half(p + offsetof(Block, dmin)), scratch.scales);
    }
    template <int strip>
    [[gnu::always_inline]] static void read(const std::byte *p, const Scratch &scratch, Reg *w)
    {
        const Bytes q = Codes::load(p + offsetof(Block, q) + 32 * strip);
        const Bytes high = Codes::load(p + offsetof(Block, high));
        const float *d = scratch.scales + 2 * strip;
        const Reg dLow = V::all(d[0]);
        const Reg dHigh = V::all(d[1]);
        const Reg mLow = V::all(d[24]);
        const Reg mHigh = V::all(d[25]);
        Codes::scaleAdd(
            Codes::either(Codes::template moved<0>(q, 15), Codes::template moved<2 * strip - 4>(high, 16)),
            dLow, mLow, dLow, mLow, w[0], w[1]);
        Codes::scaleAdd(
            Codes::either(Codes::template moved<4>(q, 15), Codes::template moved<2 * strip - 3>(high, 16)),
            dHigh, mHigh, dHigh, mHigh, w[2], w[3]);
    }
};

template <class V>
struct SuperQ6_K : SuperFormat<V>
{
    using Block = BlockQ6_K;
    using typename SuperFormat<V>::Scratch;
    using typename SuperFormat<V>::Codes;
    using typename SuperFormat<V>::Bytes;
    using typename SuperFormat<V>::Reg;

    static void prepare(const std::byte *p, Scratch &scratch)
    {
        V::store(scratch.scales,
                 V::signedBytes(p + offsetof(Block, scales), V::all(Codes::half(p + offsetof(Block, d)))));
    }
    template <int strip>
    [[gnu::always_inline]] static void read(const std::byte *p, const Scratch &scratch, Reg *w)
    {
        constexpr int shift = strip % 2 * 4;
        const std::byte *q = p + offsetof(Block, q) + strip / 2 * 64;
        const Bytes high = Codes::load(p + offsetof(Block, high) + strip / 2 * 32);
        const Bytes first = Codes::either(Codes::template moved<shift>(Codes::load(q), 15),
                                          Codes::template moved<shift - 4>(high, 48));
        const Bytes second = Codes::either(Codes::template moved<shift>(Codes::load(q + 32), 15),
                                           Codes::template moved<shift - 2>(high, 48));
        SuperFormat<V>::scaleSixteens(Codes::less(first, 32), Codes::less(second, 32),
                                      scratch.scales + 4 * strip, w);
    }
};

template <class V>
struct SuperQ8_K : SuperFormat<V>
{
    using Block = BlockQ8_K;
    using typename SuperFormat<V>::Scratch;
    using typename SuperFormat<V>::Codes;
    using typename SuperFormat<V>::Reg;

    static void prepare(const std::byte *p, Scratch &scratch)
    {
        std::memcpy(scratch.scales, p + offsetof(Block, d), sizeof(float));
    }
    template <int strip>
    [[gnu::always_inline]] static void read(const std::byte *p, const Scratch &scratch, Reg *w)
    {
        const std::byte *q = p + offsetof(Block, q) + 64 * strip;
        const Reg d = V::all(scratch.scales[0]);
        Codes::scale(Codes::load(q), d, d, w[0], w[1]);
        Codes::scale(Codes::load(q + 32), d, d, w[2], w[3]);
    }
};

template <class V>
struct SuperIQ4_XS : SuperFormat<V>
{
    using Block = BlockIQ4_XS;
    using typename SuperFormat<V>::Scratch;
    using typename SuperFormat<V>::Codes;
    using typename SuperFormat<V>::Reg;

    static void prepare(const std::byte *p, Scratch &scratch)
    {
        const float d = Codes::half(p + offsetof(Block, d));
        std::uint16_t high = 0;
        std::uint32_t low = 0;
        std::memcpy(&high, p + offsetof(Block, scalesHigh), sizeof high);
        std::memcpy(&low, p + offsetof(Block, scalesLow), sizeof low);
        for (int piece = 0; piece < 8; ++piece) {
            const std::uint32_t scale = (low >> (4 * piece) & 15U) | (std::uint32_t(high) >> (2 * piece) & 3U)
                                                                         << 4;
            scratch.scales[piece] = d * float(int(scale) - 32);
        }
    }
    template <int strip>
    [[gnu::always_inline]] static void read(const std::byte *p, const Scratch &scratch, Reg *w)
    {
        const std::byte *q = p + offsetof(Block, q) + 32 * strip;
        Codes::levels(q, iq4Levels, V::all(scratch.scales[2 * strip]), w[0], w[1]);
        Codes::levels(q + 16, iq4Levels, V::all(scratch.scales[2 * strip + 1]), w[2], w[3]);
    }
};

template <class V>
struct SuperTQ2_0 : SuperFormat<V>
{
    using Block = BlockTQ2_0;
    using typename SuperFormat<V>::Scratch;
    using typename SuperFormat<V>::Codes;
    using typename SuperFormat<V>::Bytes;
    using typename SuperFormat<V>::Reg;

    static void prepare(const std::byte *p, Scratch &scratch)
    {
        scratch.scales[0] = Codes::half(p + offsetof(Block, d));
    }
    template <int strip>
    [[gnu::always_inline]] static void read(const std::byte *p, const Scratch &scratch, Reg *w)
    {
        constexpr int shift = strip % 2 * 4;
        const Bytes q = Codes::load(p + offsetof(Block, q) + strip / 2 * 32);
        const Reg d = V::all(scratch.scales[0]);
        Codes::scale(Codes::less(Codes::template moved<shift>(q, 3), 1), d, d, w[0], w[1]);
        Codes::scale(Codes::less(Codes::template moved<shift + 2>(q, 3), 1), d, d, w[2], w[3]);
    }
};

} // namespace tokenloupe::kernel
