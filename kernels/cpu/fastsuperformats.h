// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/fastformats.h"

// The formats of fastformats.h for the types with blocks of 256 columns. Their stripes hold the four-byte
// words of the file's block, each of all 16 rows side by side; a last half word is the scale in a part of
// its own. Scale times scale is exact in float32.

namespace tokenloupe::fastkernel {

/// Word i of a packed block, all rows.
constexpr int wordBytes = 4 * stripeRows;

template <class V>
struct PackedSuper
{
    static constexpr int pieces = 8;
    static constexpr int scaleBytes = 0;
    static constexpr bool halves = false;
    static constexpr int offsetBits = 0;
    static constexpr int Minima = 0;
    using Ints = typename V::Ints;
    using Floats = typename V::Floats;
    using Bytes = typename V::Bytes;

    TOKENLOUPE_INLINE static Ints word(const std::byte *codes, int i)
    {
        return V::loadInts(codes + i * wordBytes);
    }
    TOKENLOUPE_INLINE static Bytes bytes(const std::byte *codes, int i)
    {
        return V::loadBytes(codes + i * wordBytes);
    }
    /// `count` bits of each lane from bit `from` on.
    template <int from, int count>
    TOKENLOUPE_INLINE static Ints field(Ints words)
    {
        return V::bothInts(V::template shiftRight<from>(words), (1 << count) - 1);
    }
};

/// Q4_K and Q5_K: words d and dmin, then three of six-bit numbers.
template <class V>
struct PackedSixBitScales : PackedSuper<V>
{
    using typename PackedSuper<V>::Ints;
    using typename PackedSuper<V>::Floats;
    static constexpr int Minima = 1;

    struct Scratch
    {
        Floats d;
        Floats dmin;
        Ints scales[2]; // four bytes each
        Ints minima[2];
    };
    TOKENLOUPE_INLINE static void prepare(const std::byte *, const std::byte *codes, Scratch &scratch)
    {
        constexpr int six = 0x3F3F3F3F;
        constexpr int four = 0x0F0F0F0F;
        constexpr int two = 0x30303030;
        const Ints d = PackedSuper<V>::word(codes, 0);
        const Ints first = PackedSuper<V>::word(codes, 1);
        const Ints second = PackedSuper<V>::word(codes, 2);
        const Ints third = PackedSuper<V>::word(codes, 3);
        scratch.d = V::lowerHalves(d);
        scratch.dmin = V::multiply(V::lowerHalves(V::template shiftRight<16>(d)), V::all(-1.0F));
        scratch.scales[0] = V::bothInts(first, six);
        scratch.minima[0] = V::bothInts(second, six);
        scratch.scales[1] =
            V::eitherInts(V::bothInts(third, four), V::bothInts(V::template shiftRight<2>(first), two));
        scratch.minima[1] = V::eitherInts(V::bothInts(V::template shiftRight<4>(third), four),
                                          V::bothInts(V::template shiftRight<2>(second), two));
    }
    template <int piece>
    TOKENLOUPE_INLINE static Floats scale(const Scratch &scratch)
    {
        return V::multiply(scratch.d, number<piece>(scratch.scales));
    }
    template <int piece, int i>
    TOKENLOUPE_INLINE static Floats minimum(const Scratch &scratch)
    {
        return V::multiply(scratch.dmin, number<piece>(scratch.minima));
    }

private:
    template <int piece>
    TOKENLOUPE_INLINE static Floats number(const Ints (&numbers)[2])
    {
        return V::toFloat(PackedSuper<V>::template field<piece % 4 * 8, 8>(numbers[piece / 4]));
    }
};

template <class V>
struct PackedQ4_K : PackedSixBitScales<V>
{
    static constexpr int codeBytes = 36 * wordBytes;
    static constexpr int codeBits = 4;

    template <int piece>
    TOKENLOUPE_INLINE static void read(const std::byte *codes, BlockCodes<V> &out)
    {
        TOKENLOUPE_UNROLL
        for (int j = 0; j < 8; ++j)
            out.codes[j] = V::template bitField<piece % 2 * 4, 4, 0>(
                PackedSuper<V>::bytes(codes, 4 + piece / 2 * 8 + j));
    }
};

template <class V>
struct PackedQ5_K : PackedSixBitScales<V>
{
    static constexpr int codeBytes = 44 * wordBytes;
    static constexpr int codeBits = 5;

    template <int piece>
    TOKENLOUPE_INLINE static void read(const std::byte *codes, BlockCodes<V> &out)
    {
        TOKENLOUPE_UNROLL
        for (int j = 0; j < 8; ++j)
            out.codes[j] = V::template withBitField<piece, 1, 4>(
                V::template bitField<piece % 2 * 4, 4, 0>(
                    PackedSuper<V>::bytes(codes, 12 + piece / 2 * 8 + j)),
                PackedSuper<V>::bytes(codes, 4 + j));
    }
};

template <class V>
struct PackedQ6_K : PackedSuper<V>
{
    using typename PackedSuper<V>::Ints;
    using typename PackedSuper<V>::Floats;
    static constexpr int scaleBytes = 2 * stripeRows;
    static constexpr int codeBytes = 52 * wordBytes;
    static constexpr int codeBits = 6;
    static constexpr int offsetBits = 5;
    static constexpr bool halves = true;

    struct Scratch
    {
        Floats d;
        Ints scales[4]; // four signed bytes each
    };
    TOKENLOUPE_INLINE static void prepare(const std::byte *scales, const std::byte *codes, Scratch &scratch)
    {
        scratch.d = V::loadHalf(scales);
        TOKENLOUPE_UNROLL
        for (int i = 0; i < 4; ++i)
            scratch.scales[i] = PackedSuper<V>::word(codes, 48 + i);
    }
    template <int piece>
    TOKENLOUPE_INLINE static Floats scale(const Scratch &scratch)
    {
        return scratch.d;
    }
    template <int piece, int half>
    TOKENLOUPE_INLINE static Ints halfScale(const Scratch &scratch)
    {
        constexpr int group = 2 * piece + half;
        return V::template shiftRight<24>(
            V::template shiftLeft<24 - group % 4 * 8>(scratch.scales[group / 4]));
    }
    template <int piece>
    TOKENLOUPE_INLINE static void read(const std::byte *codes, BlockCodes<V> &out)
    {
        TOKENLOUPE_UNROLL
        for (int j = 0; j < 8; ++j)
            out.codes[j] = V::template withBitField<piece % 4 * 2, 2, 4>(
                V::template bitField<piece % 4 / 2 * 4, 4, 0>(
                    PackedSuper<V>::bytes(codes, piece / 4 * 16 + piece % 2 * 8 + j)),
                PackedSuper<V>::bytes(codes, 32 + piece / 4 * 8 + j));
    }
};

template <class V>
struct PackedQ2_K : PackedSuper<V>
{
    using typename PackedSuper<V>::Ints;
    using typename PackedSuper<V>::Floats;
    static constexpr int codeBytes = 21 * wordBytes;
    static constexpr int codeBits = 2;
    static constexpr bool halves = true;
    static constexpr int Minima = 2;

    struct Scratch
    {
        Floats d;
        Floats dmin;
        Ints scales[4]; // four bytes each of a scale and a minimum
    };
    TOKENLOUPE_INLINE static void prepare(const std::byte *, const std::byte *codes, Scratch &scratch)
    {
        const Ints d = PackedSuper<V>::word(codes, 20);
        scratch.d = V::lowerHalves(d);
        scratch.dmin = V::multiply(V::lowerHalves(V::template shiftRight<16>(d)), V::all(-1.0F));
        TOKENLOUPE_UNROLL
        for (int i = 0; i < 4; ++i)
            scratch.scales[i] = PackedSuper<V>::word(codes, i);
    }
    template <int piece>
    TOKENLOUPE_INLINE static Floats scale(const Scratch &scratch)
    {
        return scratch.d;
    }
    template <int piece, int half>
    TOKENLOUPE_INLINE static Ints halfScale(const Scratch &scratch)
    {
        constexpr int group = 2 * piece + half;
        return PackedSuper<V>::template field<group % 4 * 8, 4>(scratch.scales[group / 4]);
    }
    template <int piece, int i>
    TOKENLOUPE_INLINE static Floats minimum(const Scratch &scratch)
    {
        constexpr int group = 2 * piece + i;
        return V::multiply(scratch.dmin, V::toFloat(PackedSuper<V>::template field<group % 4 * 8 + 4, 4>(
                                             scratch.scales[group / 4])));
    }
    template <int piece>
    TOKENLOUPE_INLINE static void read(const std::byte *codes, BlockCodes<V> &out)
    {
        TOKENLOUPE_UNROLL
        for (int j = 0; j < 8; ++j)
            out.codes[j] = V::template bitField<piece % 4 * 2, 2, 0>(
                PackedSuper<V>::bytes(codes, 4 + piece / 4 * 8 + j));
    }
};

template <class V>
struct PackedQ3_K : PackedSuper<V>
{
    using typename PackedSuper<V>::Ints;
    using typename PackedSuper<V>::Floats;
    static constexpr int scaleBytes = 2 * stripeRows;
    static constexpr int codeBytes = 27 * wordBytes;
    static constexpr int codeBits = 3;
    static constexpr int offsetBits = 2;
    static constexpr bool halves = true;

    struct Scratch
    {
        Floats d;
        Ints scales[3]; // the low four bits of each, then the high two
    };
    TOKENLOUPE_INLINE static void prepare(const std::byte *scales, const std::byte *codes, Scratch &scratch)
    {
        scratch.d = V::loadHalf(scales);
        TOKENLOUPE_UNROLL
        for (int i = 0; i < 3; ++i)
            scratch.scales[i] = PackedSuper<V>::word(codes, 24 + i);
    }
    template <int piece>
    TOKENLOUPE_INLINE static Floats scale(const Scratch &scratch)
    {
        return scratch.d;
    }
    template <int piece, int half>
    TOKENLOUPE_INLINE static Ints halfScale(const Scratch &scratch)
    {
        constexpr int group = 2 * piece + half;
        const Ints low =
            PackedSuper<V>::template field<group % 4 * 8 + group / 8 * 4, 4>(scratch.scales[group % 8 / 4]);
        const Ints high = PackedSuper<V>::template field<group % 4 * 8 + group / 4 * 2, 2>(scratch.scales[2]);
        return V::subtractInts(V::eitherInts(low, V::template shiftLeft<4>(high)), V::allOf(32));
    }
    template <int piece>
    TOKENLOUPE_INLINE static void read(const std::byte *codes, BlockCodes<V> &out)
    {
        TOKENLOUPE_UNROLL
        for (int j = 0; j < 8; ++j)
            out.codes[j] = V::template withBitField<piece, 1, 2>(
                V::template bitField<piece % 4 * 2, 2, 0>(
                    PackedSuper<V>::bytes(codes, 8 + piece / 4 * 8 + j)),
                PackedSuper<V>::bytes(codes, j));
    }
};

template <class V>
struct PackedIQ4_XS : PackedSuper<V>
{
    using typename PackedSuper<V>::Ints;
    using typename PackedSuper<V>::Floats;
    static constexpr int codeBytes = 34 * wordBytes;
    static constexpr int codeBits = 8;
    static constexpr int offsetBits = 7;

    struct Scratch
    {
        Floats d;
        Ints high; // two bits of each scale from bit 16 on
        Ints low;  // four bits of each
    };
    TOKENLOUPE_INLINE static void prepare(const std::byte *, const std::byte *codes, Scratch &scratch)
    {
        scratch.high = PackedSuper<V>::word(codes, 0);
        scratch.low = PackedSuper<V>::word(codes, 1);
        scratch.d = V::lowerHalves(scratch.high);
    }
    template <int piece>
    TOKENLOUPE_INLINE static Floats scale(const Scratch &scratch)
    {
        const Ints low = PackedSuper<V>::template field<4 * piece, 4>(scratch.low);
        const Ints high = PackedSuper<V>::template field<16 + 2 * piece, 2>(scratch.high);
        const Ints six = V::eitherInts(low, V::template shiftLeft<4>(high));
        return V::multiply(scratch.d, V::toFloat(V::subtractInts(six, V::allOf(32))));
    }
    template <int piece>
    TOKENLOUPE_INLINE static void read(const std::byte *codes, BlockCodes<V> &out)
    {
        readLevels<V>(codes + (2 + piece * 4) * wordBytes, raisedIq4Levels.level, out);
    }
};

} // namespace tokenloupe::fastkernel
