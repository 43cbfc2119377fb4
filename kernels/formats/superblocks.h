// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/formats/blocks.h"

// Layouts of the stored types with blocks of more than one level of scales, of code tables and of codebooks.
// In all of them a value is scale · whole number (+ minimum), and scale · number is exact in float32, Q8_K
// excepted: so a weight is rounded once at most, whatever does the arithmetic.
//
// "Piece p" is columns 32p … 32p + 31 of a block of 256.

namespace tokenloupe {

/// Each piece has two scales and two minima, four bits each: byte s of `scales` is for columns 16s … 16s +
/// 15, scale in the low half. w = d · scale · q - dmin · minimum; q is two bits, four pieces share 32 bytes.
struct BlockQ2_K
{
    std::uint8_t scales[16];
    std::uint8_t q[64];
    std::uint16_t d;    ///< binary16
    std::uint16_t dmin; ///< binary16
};

/// w = d · (scale - 32) · (q - 4), a six-bit scale for sixteen columns. Low two bits of q as in Q2_K, bit p
/// of high[i] is the third bit of value i of piece p. `scales`: sixteen low halves, then sixteen times two
/// bits.
struct BlockQ3_K
{
    std::uint8_t high[32];
    std::uint8_t q[64];
    std::uint8_t scales[12];
    std::uint16_t d; ///< binary16
};

/// w = d · scale · q - dmin · minimum, six bits each for a piece. Pieces 2k and 2k + 1 are the low and high
/// halves of 32 bytes.
struct BlockQ4_K
{
    std::uint16_t d;    ///< binary16
    std::uint16_t dmin; ///< binary16
    std::uint8_t scales[12];
    std::uint8_t q[128];
};

/// Q4_K with a fifth bit: bit p of high[i] for value i of piece p.
struct BlockQ5_K
{
    std::uint16_t d;    ///< binary16
    std::uint16_t dmin; ///< binary16
    std::uint8_t scales[12];
    std::uint8_t high[32];
    std::uint8_t q[128];
};

/// w = d · scale · (q - 32), a scale for sixteen columns. The halves of 128 columns are stored alike: pieces
/// 0 and 2 are the low and high halves of 32 bytes of q, 1 and 3 of the next 32; the upper two bits of the
/// four pieces share 32 bytes of `high`.
struct BlockQ6_K
{
    std::uint8_t q[128];
    std::uint8_t high[64];
    std::int8_t scales[16];
    std::uint16_t d; ///< binary16
};

/// w = d · q. The sums serve integer products.
struct BlockQ8_K
{
    float d;
    std::int8_t q[256];
    std::int16_t sums[16];
};

/// w = d · iq4Levels[q]; halves as in Q4_0.
struct BlockIQ4_NL
{
    std::uint16_t d; ///< binary16
    std::uint8_t q[16];
};

/// w = d · (scale - 32) · iq4Levels[q]; a piece is 16 bytes with halves as in Q4_0. Scales are six bits: the
/// low four in `scalesLow`, two pieces a byte, the high two in `scalesHigh`.
struct BlockIQ4_XS
{
    std::uint16_t d; ///< binary16
    std::uint16_t scalesHigh;
    std::uint8_t scalesLow[4];
    std::uint8_t q[128];
};

/// w = 2^(e - 128) · mxfp4Levels[q]; halves as in Q4_0.
struct BlockMXFP4
{
    std::uint8_t e;
    std::uint8_t q[16];
};

/// 64 values: for each sixteen a scale of four exponent and three mantissa bits and eight bytes, low halves
/// first. w = scale / 2 · mxfp4Levels[q].
struct BlockNVFP4
{
    std::uint8_t d[4];
    std::uint8_t q[32];
};

/// A piece is four bytes of indices, then 32 bits: four times seven bits of signs, four bits of scale.
/// w = d · (scale + ½) / 4 · ± codebook.
struct BlockIQ2_XXS
{
    std::uint16_t d; ///< binary16
    std::uint8_t q[64];
};

/// Eight columns are nine bits of index and seven of signs. A four-bit scale as above for sixteen columns.
struct BlockIQ2_XS
{
    std::uint16_t d; ///< binary16
    std::uint8_t q[64];
    std::uint8_t scales[8];
};

/// Low eight bits of the 32 indices, a byte of signs for each, the indices' upper two bits, scales as above.
struct BlockIQ2_S
{
    std::uint16_t d; ///< binary16
    std::uint8_t q[32];
    std::uint8_t signs[32];
    std::uint8_t high[8];
    std::uint8_t scales[8];
};

/// Indices of groups of four; then for each piece 32 bits of signs and scale as in IQ2_XXS.
/// w = d · (scale + ½) / 2 · ± codebook.
struct BlockIQ3_XXS
{
    std::uint16_t d; ///< binary16
    std::uint8_t q[64];
    std::uint8_t signs[32];
};

/// Indices of groups of four, their ninth bits, a sign for each column, four bits of scale for each piece.
/// w = d · (2 scale + 1) · ± codebook.
struct BlockIQ3_S
{
    std::uint16_t d; ///< binary16
    std::uint8_t q[64];
    std::uint8_t high[8];
    std::uint8_t signs[32];
    std::uint8_t scales[4];
};

/// A piece has four indices: eight bits in q, three each in the low twelve bits of `high`, above them three
/// bits of scale and one for a negative offset. w = d · (2 scale + 1) · (codebook ± ⅛).
struct BlockIQ1_S
{
    std::uint16_t d; ///< binary16
    std::uint8_t q[32];
    std::uint8_t high[16]; ///< eight times 16 bits
};

/// As IQ1_S, but a half byte of `high` (three bits of index, one for a negative offset) for each index and
/// a three-bit scale for sixteen columns. The upper half bytes of the four 16-bit words of `scales` make d.
struct BlockIQ1_M
{
    std::uint8_t q[32];
    std::uint8_t high[16];
    std::uint8_t scales[8];
};

/// w = d · (digit - 1). Bytes are fractions of 256 with five ternary digits after the point (rounded up), in
/// groups of 32, of 16 and, with four digits, of 4 bytes; the first digits of a group come first.
struct BlockTQ1_0
{
    std::uint8_t q[48];
    std::uint8_t high[4];
    std::uint16_t d; ///< binary16
};

/// w = d · (q - 1), two bits; four pieces share 32 bytes.
struct BlockTQ2_0
{
    std::uint8_t q[64];
    std::uint16_t d; ///< binary16
};

constexpr int superBlockValues = 256;

static_assert(sizeof(BlockQ2_K) == 84 && sizeof(BlockQ3_K) == 110 && sizeof(BlockQ4_K) == 144 &&
                  sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210 && sizeof(BlockQ8_K) == 292 &&
                  sizeof(BlockIQ4_NL) == 18 && sizeof(BlockIQ4_XS) == 136 && sizeof(BlockMXFP4) == 17 &&
                  sizeof(BlockNVFP4) == 36 && sizeof(BlockIQ2_XXS) == 66 && sizeof(BlockIQ2_XS) == 74 &&
                  sizeof(BlockIQ2_S) == 82 && sizeof(BlockIQ3_XXS) == 98 && sizeof(BlockIQ3_S) == 110 &&
                  sizeof(BlockIQ1_S) == 50 && sizeof(BlockIQ1_M) == 56 && sizeof(BlockTQ1_0) == 54 &&
                  sizeof(BlockTQ2_0) == 66,
              "blocks lie in the file without padding");

/// What the four bits of IQ4_NL and IQ4_XS stand for.
constexpr std::int8_t iq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113};
/// Twice what a float of one sign, two exponent and one mantissa bit is.
constexpr std::int8_t mxfp4Levels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// 2^(e - 128): half of what the exponent byte says, as the levels are doubled.
[[gnu::always_inline]] inline float halfOfExponent(std::uint8_t e)
{
    return bitsToFloat(e < 2 ? 0x00200000U << e : (std::uint32_t(e) - 1U) << 23);
}

/// Half of a number with four exponent and three mantissa bits and no sign.
[[gnu::always_inline]] inline float halfOfSmallFloat(std::uint8_t bits)
{
    const std::uint32_t exponent = (bits >> 3) & 15U;
    const std::uint32_t fraction = bits & 7U;
    if (bits == 127U)
        return 0.0F; // the pattern for "not a number"
    // The bias is 7; the halves and the eighths of the fraction are below that.
    return exponent == 0 ? float(fraction) * 0x1p-10F
                         : float(8U + fraction) * bitsToFloat((exponent + 127U - 11U) << 23);
}

} // namespace tokenloupe
