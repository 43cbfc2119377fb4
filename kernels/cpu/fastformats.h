// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/packedformat.h"
#include "kernels/formats/superblocks.h"

#include <cstddef>
#include <cstdint>

// How stripes of the types with blocks of 32 columns become integer codes in registers, over the fast Vector
// type V. A Format here has
//   pieces          blocks of 32 columns that are stored together
//   scaleBytes, codeBytes    of them in the two parts of a stripe
//   codeBits        codes are unsigned and have so many bits
//   offsetBits      if not 0: the weight is scale · (code - 2^offsetBits)
//   halves          whether each sixteen columns have an integer scale of their own, besides the one of the
//                   piece
//   Minima          how many numbers are added for a piece: none, one for its 32 columns, or two for 16 each
//   Scratch, prepare(scales, codes, scratch)   what is worked out once for all pieces
//   read<piece>(codes, block)                  the codes
//   scale<piece>(scratch), minimum<piece, i>(scratch), halfScale<piece, half>(scratch)
//
// note: everything is a template over V, so that the code of each instruction set has names of its own.

// Loops over an array of registers have to be unrolled, or the array lives in memory. Arrays that stand for
// registers live there anyway.
#ifdef TOKENLOUPE_PORTABLE_FAST_KERNELS
#define TOKENLOUPE_UNROLL
#define TOKENLOUPE_INLINE inline
#else
#ifdef __clang__
#define TOKENLOUPE_UNROLL _Pragma("unroll")
#else
#define TOKENLOUPE_UNROLL _Pragma("GCC unroll 32")
#endif
#define TOKENLOUPE_INLINE [[gnu::always_inline]] inline
#endif

namespace tokenloupe::fastkernel {

/// A block of 16 rows × 32 columns in registers: codes[j] holds, for each row, columns 4·j … 4·j + 3.
template <class V>
struct BlockCodes
{
    typename V::Bytes codes[8];
};

template <class V>
TOKENLOUPE_INLINE void readNibbles(const std::byte *p, BlockCodes<V> &out)
{
    TOKENLOUPE_UNROLL
    for (int j = 0; j < 4; ++j) {
        const typename V::Bytes both = V::loadBytes(p + 64 * j);
        out.codes[j] = V::lowNibbles(both);
        out.codes[j + 4] = V::highNibbles(both);
    }
}

template <class V>
TOKENLOUPE_INLINE void readFiveBits(const std::byte *p, BlockCodes<V> &out)
{
    const typename V::Bytes fifth = V::loadBytes(p);
    readNibbles<V>(p + 64, out);
    out.codes[0] = V::template withBitField<0, 1, 4>(out.codes[0], fifth);
    out.codes[1] = V::template withBitField<1, 1, 4>(out.codes[1], fifth);
    out.codes[2] = V::template withBitField<2, 1, 4>(out.codes[2], fifth);
    out.codes[3] = V::template withBitField<3, 1, 4>(out.codes[3], fifth);
    out.codes[4] = V::template withBitField<4, 1, 4>(out.codes[4], fifth);
    out.codes[5] = V::template withBitField<5, 1, 4>(out.codes[5], fifth);
    out.codes[6] = V::template withBitField<6, 1, 4>(out.codes[6], fifth);
    out.codes[7] = V::template withBitField<7, 1, 4>(out.codes[7], fifth);
}

/// Codes that stand for the entries of a table.
template <class V>
TOKENLOUPE_INLINE void readLevels(const std::byte *p, const std::uint8_t (&levels)[16], BlockCodes<V> &out)
{
    readNibbles<V>(p, out);
    TOKENLOUPE_UNROLL
    for (int j = 0; j < 8; ++j)
        out.codes[j] = V::lookUp(levels, out.codes[j]);
}

/// A table of signed levels, each `offset` larger.
struct UnsignedLevels
{
    std::uint8_t level[16];
};
constexpr UnsignedLevels raised(const std::int8_t (&levels)[16], int offset)
{
    UnsignedLevels out = {};
    for (int i = 0; i < 16; ++i)
        out.level[i] = std::uint8_t(levels[i] + offset);
    return out;
}
inline constexpr UnsignedLevels raisedIq4Levels = raised(iq4Levels, 128);
inline constexpr UnsignedLevels raisedMxfp4Levels = raised(mxfp4Levels, 16);

/// One binary16 scale for a row of a block, and for some types a minimum behind it.
template <class V, int bits, int offset, int minima>
struct PackedBlock
{
    static constexpr int pieces = 1;
    static constexpr int scaleBytes = (1 + minima) * 2 * stripeRows;
    static constexpr int codeBytes = bits * 64;
    static constexpr int codeBits = bits;
    static constexpr int offsetBits = offset;
    static constexpr bool halves = false;
    static constexpr int Minima = minima;

    struct Scratch
    {
        typename V::Floats scale;
        typename V::Floats minimum;
    };
    TOKENLOUPE_INLINE static void prepare(const std::byte *scales, const std::byte *, Scratch &scratch)
    {
        scratch.scale = V::loadHalf(scales);
        if constexpr (minima > 0)
            scratch.minimum = V::loadHalf(scales + 2 * stripeRows);
    }
    template <int piece>
    TOKENLOUPE_INLINE static typename V::Floats scale(const Scratch &scratch)
    {
        return scratch.scale;
    }
    template <int piece, int i>
    TOKENLOUPE_INLINE static typename V::Floats minimum(const Scratch &scratch)
    {
        return scratch.minimum;
    }
};

template <class V, int offset, int minima>
struct PackedNibbles : PackedBlock<V, 4, offset, minima>
{
    template <int piece>
    TOKENLOUPE_INLINE static void read(const std::byte *codes, BlockCodes<V> &out)
    {
        readNibbles<V>(codes, out);
    }
};

template <class V, int offset, int minima>
struct PackedFiveBits : PackedBlock<V, 5, offset, minima>
{
    template <int piece>
    TOKENLOUPE_INLINE static void read(const std::byte *codes, BlockCodes<V> &out)
    {
        readFiveBits<V>(codes, out);
    }
};

template <class V>
using PackedQ4_0 = PackedNibbles<V, 3, 0>;
template <class V>
using PackedQ4_1 = PackedNibbles<V, 0, 1>;
template <class V>
using PackedQ5_0 = PackedFiveBits<V, 4, 0>;
template <class V>
using PackedQ5_1 = PackedFiveBits<V, 0, 1>;

template <class V>
struct PackedQ8_0 : PackedBlock<V, 8, 7, 0>
{
    template <int piece>
    TOKENLOUPE_INLINE static void read(const std::byte *codes, BlockCodes<V> &out)
    {
        TOKENLOUPE_UNROLL
        for (int j = 0; j < 8; ++j)
            out.codes[j] = V::loadBytes(codes + 64 * j);
    }
};

template <class V>
struct PackedIQ4_NL : PackedBlock<V, 4, 7, 0>
{
    static constexpr int codeBits = 8;
    template <int piece>
    TOKENLOUPE_INLINE static void read(const std::byte *codes, BlockCodes<V> &out)
    {
        readLevels<V>(codes, raisedIq4Levels.level, out);
    }
};

template <class V>
struct PackedMXFP4 : PackedBlock<V, 4, 4, 0>
{
    static constexpr int codeBits = 5;
    static constexpr int scaleBytes = stripeRows;
    using Scratch = typename PackedBlock<V, 4, 4, 0>::Scratch;

    /// As halfOfExponent(): of the two patterns the right one is the larger.
    TOKENLOUPE_INLINE static void prepare(const std::byte *scales, const std::byte *, Scratch &scratch)
    {
        const typename V::Ints e = V::loadByteInts(scales);
        const typename V::Ints one = V::allOf(1);
        scratch.scale = V::asFloats(V::largerInts(V::template shiftLeft<23>(V::subtractInts(e, one)),
                                                  V::template shiftLeft<21>(V::addInts(e, one))));
    }
    template <int piece>
    TOKENLOUPE_INLINE static void read(const std::byte *codes, BlockCodes<V> &out)
    {
        readLevels<V>(codes, raisedMxfp4Levels.level, out);
    }
};

} // namespace tokenloupe::fastkernel
