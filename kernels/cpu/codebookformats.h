// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/superformats.h"
#include "kernels/formats/codebooks.h"

// The types whose codes take more than shifts and masks to find: a block is first written out as one small
// number a byte and one scale for sixteen columns, by plain code; from there on it is as with the others.

namespace tokenloupe::kernel {

template <class V, class StoredBlock, int columns, int codeOffset>
struct ExpandedFormat
{
    using Block = StoredBlock;
    using Codes = typename V::Codes;
    using Reg = typename V::Reg;
    static constexpr int blockValues = columns;
    struct Scratch
    {
        alignas(64) std::uint8_t codes[columns];
        float scales[columns / 16];
    };

    template <int strip>
    [[gnu::always_inline]] static void read(const std::byte *, const Scratch &scratch, Reg *w)
    {
        const std::uint8_t *q = scratch.codes + 64 * strip;
        const float *d = scratch.scales + 4 * strip;
        Codes::scale(Codes::less(Codes::load(q), codeOffset), V::all(d[0]), V::all(d[1]), w[0], w[1]);
        Codes::scale(Codes::less(Codes::load(q + 32), codeOffset), V::all(d[2]), V::all(d[3]), w[2], w[3]);
    }

protected:
    static Block copied(const std::byte *p)
    {
        Block block;
        std::memcpy(&block, p, sizeof block);
        return block;
    }
};

/// Bit i of `signs` as the sign of byte i, which must be positive.
template <class V>
std::uint64_t withSigns(std::uint64_t group, std::uint32_t signs)
{
    constexpr std::uint64_t ones = 0x0101010101010101ULL;
    const std::uint64_t bits = signs * ones & 0x8040201008040201ULL;
    const std::uint64_t isSet = (bits + 0x7F * ones) >> 7 & ones;
    return (group ^ isSet * 0xFF) + isSet;
}

/// Seven signs; the eighth makes their number even.
template <class V>
std::uint32_t evenSigns(std::uint32_t seven)
{
    return seven | std::uint32_t(__builtin_parity(seven)) << 7;
}

template <class V>
void storeGroup(std::uint8_t *out, std::uint64_t group)
{
    std::memcpy(out, &group, sizeof group);
}

template <class V>
struct SuperIQ2_XXS : ExpandedFormat<V, BlockIQ2_XXS, 256, 0>
{
    using typename ExpandedFormat<V, BlockIQ2_XXS, 256, 0>::Scratch;
    static void prepare(const std::byte *p, Scratch &scratch)
    {
        const BlockIQ2_XXS block = SuperIQ2_XXS::copied(p);
        const float d = V::Codes::half(&block.d) * 0.125F;
        for (int piece = 0; piece < 8; ++piece) {
            std::uint32_t signs = 0;
            std::memcpy(&signs, block.q + 8 * piece + 4, sizeof signs);
            for (int i = 0; i < 4; ++i)
                storeGroup<V>(scratch.codes + 32 * piece + 8 * i,
                              withSigns<V>(iq2xxsCodebook.groups[block.q[8 * piece + i]],
                                           evenSigns<V>(signs >> (7 * i) & 127U)));
            const float scale = d * float(2 * (signs >> 28) + 1);
            scratch.scales[2 * piece] = scale;
            scratch.scales[2 * piece + 1] = scale;
        }
    }
};

/// d · (scale + ½) / 4 of the sixteen four-bit scales.
template <class V>
void halfStepScales(const std::uint8_t (&packed)[8], float d, float *out)
{
    for (int i = 0; i < 16; ++i)
        out[i] = d * 0.125F * float(2 * (packed[i / 2] >> (i % 2 * 4) & 15) + 1);
}

template <class V>
struct SuperIQ2_XS : ExpandedFormat<V, BlockIQ2_XS, 256, 0>
{
    using typename ExpandedFormat<V, BlockIQ2_XS, 256, 0>::Scratch;
    static void prepare(const std::byte *p, Scratch &scratch)
    {
        const BlockIQ2_XS block = SuperIQ2_XS::copied(p);
        halfStepScales<V>(block.scales, V::Codes::half(&block.d), scratch.scales);
        for (int i = 0; i < 32; ++i) {
            const std::uint32_t word = block.q[2 * i] | std::uint32_t(block.q[2 * i + 1]) << 8;
            storeGroup<V>(scratch.codes + 8 * i,
                          withSigns<V>(iq2xsCodebook.groups[word & 511U], evenSigns<V>(word >> 9)));
        }
    }
};

template <class V>
struct SuperIQ2_S : ExpandedFormat<V, BlockIQ2_S, 256, 0>
{
    using typename ExpandedFormat<V, BlockIQ2_S, 256, 0>::Scratch;
    static void prepare(const std::byte *p, Scratch &scratch)
    {
        const BlockIQ2_S block = SuperIQ2_S::copied(p);
        halfStepScales<V>(block.scales, V::Codes::half(&block.d), scratch.scales);
        for (int i = 0; i < 32; ++i) {
            const std::uint32_t upper = std::uint32_t(block.high[i / 4]) >> (i % 4 * 2) & 3U;
            storeGroup<V>(scratch.codes + 8 * i,
                          withSigns<V>(iq2sCodebook.groups[block.q[i] | upper << 8], block.signs[i]));
        }
    }
};

template <class V>
struct SuperIQ3_XXS : ExpandedFormat<V, BlockIQ3_XXS, 256, 0>
{
    using typename ExpandedFormat<V, BlockIQ3_XXS, 256, 0>::Scratch;
    static void prepare(const std::byte *p, Scratch &scratch)
    {
        const BlockIQ3_XXS block = SuperIQ3_XXS::copied(p);
        const float d = V::Codes::half(&block.d) * 0.25F;
        for (int piece = 0; piece < 8; ++piece) {
            std::uint32_t signs = 0;
            std::memcpy(&signs, block.signs + 4 * piece, sizeof signs);
            for (int i = 0; i < 4; ++i) {
                const std::uint8_t *q = block.q + 8 * piece + 2 * i;
                const std::uint64_t group =
                    iq3xxsCodebook.groups[q[0]] | std::uint64_t(iq3xxsCodebook.groups[q[1]]) << 32;
                storeGroup<V>(scratch.codes + 32 * piece + 8 * i,
                              withSigns<V>(group, evenSigns<V>(signs >> (7 * i) & 127U)));
            }
            const float scale = d * float(2 * (signs >> 28) + 1);
            scratch.scales[2 * piece] = scale;
            scratch.scales[2 * piece + 1] = scale;
        }
    }
};

template <class V>
struct SuperIQ3_S : ExpandedFormat<V, BlockIQ3_S, 256, 0>
{
    using typename ExpandedFormat<V, BlockIQ3_S, 256, 0>::Scratch;
    static void prepare(const std::byte *p, Scratch &scratch)
    {
        const BlockIQ3_S block = SuperIQ3_S::copied(p);
        const float d = V::Codes::half(&block.d);
        for (int i = 0; i < 32; ++i) {
            const auto index = [&block](int j) {
                return block.q[j] | (std::uint32_t(block.high[j / 8]) >> (j % 8) & 1U) << 8;
            };
            const std::uint64_t group = iq3sCodebook.groups[index(2 * i)] |
                                        std::uint64_t(iq3sCodebook.groups[index(2 * i + 1)]) << 32;
            storeGroup<V>(scratch.codes + 8 * i, withSigns<V>(group, block.signs[i]));
        }
        for (int i = 0; i < 16; ++i)
            scratch.scales[i] = d * float(2 * (block.scales[i / 4] >> (i / 2 % 2 * 4) & 15) + 1);
    }
};

/// One IQ1 group in eighths, its offset of an eighth added, all of it 9 too large.
template <class V>
std::uint64_t iq1Group(std::uint32_t index, std::uint32_t isNegative)
{
    return iq1Codebook.groups[index] + (isNegative ? 0U : 0x0202020202020202ULL);
}

template <class V>
struct SuperIQ1_S : ExpandedFormat<V, BlockIQ1_S, 256, 9>
{
    using typename ExpandedFormat<V, BlockIQ1_S, 256, 9>::Scratch;
    static void prepare(const std::byte *p, Scratch &scratch)
    {
        const BlockIQ1_S block = SuperIQ1_S::copied(p);
        const float d = V::Codes::half(&block.d) * 0.125F;
        for (int piece = 0; piece < 8; ++piece) {
            const std::uint32_t high = block.high[2 * piece] | std::uint32_t(block.high[2 * piece + 1]) << 8;
            for (int i = 0; i < 4; ++i)
                storeGroup<V>(scratch.codes + 32 * piece + 8 * i,
                              iq1Group<V>(block.q[4 * piece + i] | (high >> (3 * i) & 7U) << 8, high >> 15));
            const float scale = d * float(2 * (high >> 12 & 7U) + 1);
            scratch.scales[2 * piece] = scale;
            scratch.scales[2 * piece + 1] = scale;
        }
    }
};

template <class V>
struct SuperIQ1_M : ExpandedFormat<V, BlockIQ1_M, 256, 9>
{
    using typename ExpandedFormat<V, BlockIQ1_M, 256, 9>::Scratch;
    static void prepare(const std::byte *p, Scratch &scratch)
    {
        const BlockIQ1_M block = SuperIQ1_M::copied(p);
        const auto word = [&block](int i) {
            return block.scales[2 * i] | std::uint32_t(block.scales[2 * i + 1]) << 8;
        };
        const auto half =
            std::uint16_t(word(0) >> 12 | word(1) >> 12 << 4 | word(2) >> 12 << 8 | word(3) >> 12 << 12);
        const float d = V::Codes::half(&half) * 0.125F;
        for (int i = 0; i < 32; ++i) {
            const std::uint32_t high = std::uint32_t(block.high[i / 2]) >> (i % 2 * 4) & 15U;
            storeGroup<V>(scratch.codes + 8 * i, iq1Group<V>(block.q[i] | (high & 7U) << 8, high >> 3));
        }
        for (int i = 0; i < 16; ++i)
            scratch.scales[i] = d * float(2 * (word(i / 4) >> (i % 4 * 3) & 7U) + 1);
    }
};

template <class V>
struct SuperTQ1_0 : ExpandedFormat<V, BlockTQ1_0, 256, 1>
{
    using typename ExpandedFormat<V, BlockTQ1_0, 256, 1>::Scratch;
    static void prepare(const std::byte *p, Scratch &scratch)
    {
        const BlockTQ1_0 block = SuperTQ1_0::copied(p);
        for (float &scale : scratch.scales)
            scale = V::Codes::half(&block.d);
        std::uint8_t *out = digits(block.q, 32, 5, scratch.codes);
        out = digits(block.q + 32, 16, 5, out);
        digits(block.high, 4, 4, out);
    }

private:
    /// The first digit of each of `count` bytes, then the second, and so on.
    static std::uint8_t *digits(const std::uint8_t *q, int count, int digitCount, std::uint8_t *out)
    {
        std::uint8_t rest[32];
        std::memcpy(rest, q, std::size_t(count));
        for (int digit = 0; digit < digitCount; ++digit) {
            for (int i = 0; i < count; ++i) {
                const int tripled = 3 * rest[i];
                *out++ = std::uint8_t(tripled >> 8);
                rest[i] = std::uint8_t(tripled & 255);
            }
        }
        return out;
    }
};

template <class V>
struct SuperNVFP4 : ExpandedFormat<V, BlockNVFP4, 64, 0>
{
    using Base = ExpandedFormat<V, BlockNVFP4, 64, 0>;
    using typename Base::Codes;
    using typename Base::Reg;
    using typename Base::Scratch;

    static void prepare(const std::byte *p, Scratch &scratch)
    {
        constexpr std::uint64_t lowHalves = 0x0F0F0F0F0F0F0F0FULL;
        const BlockNVFP4 block = SuperNVFP4::copied(p);
        for (int i = 0; i < 4; ++i) {
            scratch.scales[i] = halfOfSmallFloat(block.d[i]);
            std::uint64_t q = 0;
            std::memcpy(&q, block.q + 8 * i, sizeof q);
            storeGroup<V>(scratch.codes + 16 * i, q & lowHalves);
            storeGroup<V>(scratch.codes + 16 * i + 8, q >> 4 & lowHalves);
        }
    }
    template <int strip>
    [[gnu::always_inline]] static void read(const std::byte *, const Scratch &scratch, Reg *w)
    {
        const float *d = scratch.scales;
        Codes::scale(Codes::lookedUp(Codes::load(scratch.codes), mxfp4Levels), V::all(d[0]), V::all(d[1]),
                     w[0], w[1]);
        Codes::scale(Codes::lookedUp(Codes::load(scratch.codes + 32), mxfp4Levels), V::all(d[2]),
                     V::all(d[3]), w[2], w[3]);
    }
};

} // namespace tokenloupe::kernel
