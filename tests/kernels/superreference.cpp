// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/kernels/superreference.h"

#include "kernels/formats/codebooks.h"
#include "tests/kernels/kernelcases.h"

#include <cmath>
#include <limits>

namespace tokenloupe::test {

namespace {

/// A block as bytes, halves and bit fields by position.
struct Reader
{
    const std::byte *p;

    int byte(int at) const { return std::to_integer<int>(p[at]); }
    int signedByte(int at) const { return byte(at) < 128 ? byte(at) : byte(at) - 256; }
    int word(int at) const { return byte(at) + 256 * byte(at + 1); }
    double half(int at) const { return referenceHalf(std::uint16_t(word(at))); }
    /// `count` bits of what begins at byte `at`, from bit `first` on, counted from the lowest of the first
    /// byte.
    int bits(int at, int first, int count) const
    {
        int value = 0;
        for (int b = 0; b < count; ++b)
            value += (byte(at + (first + b) / 8) >> ((first + b) % 8) & 1) << b;
        return value;
    }
    int nibble(int at, int i) const { return bits(at, 4 * i, 4); }
};

constexpr int nonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr double fourBitFloat[16] = {0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6};

/// Code of 32 values in sixteen bytes.
int splitNibble(const Reader &b, int at, int i)
{
    return b.bits(at + i % 16, i / 16 * 4, 4);
}

/// Two bits of value i of 256 where four pieces share 32 bytes.
int twoBits(const Reader &b, int at, int i)
{
    return b.bits(at + i / 128 * 32 + i % 32, i / 32 % 4 * 2, 2);
}

/// Scale (which = 0) or minimum (which = 1) of piece `piece` of Q4_K and Q5_K.
int sixBits(const Reader &b, int at, int piece, int which)
{
    if (piece < 4)
        return b.bits(at + 4 * which + piece, 0, 6);
    return b.bits(at + 4 + piece, 4 * which, 4) + 16 * b.bits(at + 4 * which + piece - 4, 6, 2);
}

double q6K(const Reader &b, int i)
{
    const int place = i / 128 * 64 + i % 64;
    const int code =
        b.bits(place, i / 64 % 2 * 4, 4) + 16 * b.bits(128 + i / 128 * 32 + i % 32, i / 32 % 4 * 2, 2);
    return b.half(208) * b.signedByte(192 + i / 16) * (code - 32);
}

double q3K(const Reader &b, int i)
{
    const int group = i / 16;
    const int scale =
        b.bits(96 + group % 8, group / 8 * 4, 4) + 16 * b.bits(104 + group % 4, group / 4 * 2, 2);
    return b.half(108) * (scale - 32) * (twoBits(b, 32, i) + 4 * b.bits(i % 32, i / 32, 1) - 4);
}

template <class Group, int size>
int codebookValue(const Codebook<Group, size> &book, int index, int i)
{
    return int(book.groups[index] >> (8 * i) & 255);
}

/// Seven signs and one that makes their number even; sign i of these.
int evenSign(int seven, int i)
{
    int sum = 0;
    for (int b = 0; b < 7; ++b)
        sum += seven >> b & 1;
    return (i < 7 ? seven >> i & 1 : sum % 2) != 0 ? -1 : 1;
}

double iq2(TensorType type, const Reader &b, int i)
{
    const int group = i / 8;
    const double d = b.half(0) / 4;
    if (type == TensorType::IQ2_XXS) {
        const int piece = 2 + i / 32 * 8;
        return d * (b.bits(piece + 4, 28, 4) + 0.5) *
               codebookValue(iq2xxsCodebook, b.byte(piece + group % 4), i % 8) *
               evenSign(b.bits(piece + 4, group % 4 * 7, 7), i % 8);
    }
    if (type == TensorType::IQ2_XS)
        return d * (b.nibble(66, i / 16) + 0.5) *
               codebookValue(iq2xsCodebook, b.bits(2 + 2 * group, 0, 9), i % 8) *
               evenSign(b.bits(2 + 2 * group, 9, 7), i % 8);
    const int index = b.byte(2 + group) + 256 * b.bits(66, 2 * group, 2);
    return d * (b.nibble(74, i / 16) + 0.5) * codebookValue(iq2sCodebook, index, i % 8) *
           (b.bits(34, i, 1) != 0 ? -1 : 1);
}

double iq3(TensorType type, const Reader &b, int i)
{
    if (type == TensorType::IQ3_XXS) {
        const int signs = 66 + i / 32 * 4;
        return b.half(0) / 2 * (b.bits(signs, 28, 4) + 0.5) *
               codebookValue(iq3xxsCodebook, b.byte(2 + i / 4), i % 4) *
               evenSign(b.bits(signs, i / 8 % 4 * 7, 7), i % 8);
    }
    const int index = b.byte(2 + i / 4) + 256 * b.bits(66, i / 4, 1);
    return b.half(0) * (1 + 2 * b.nibble(106, i / 32)) * codebookValue(iq3sCodebook, index, i % 4) *
           (b.bits(74, i, 1) != 0 ? -1 : 1);
}

double iq1(int index, int isNegative, int i)
{
    return (codebookValue(iq1Codebook, index, i) - 8 + (isNegative != 0 ? -1 : 1)) / 8.0;
}

double iq1S(const Reader &b, int i)
{
    const int high = 34 + i / 32 * 2;
    return b.half(0) * (1 + 2 * b.bits(high, 12, 3)) *
           iq1(b.byte(2 + i / 8) + 256 * b.bits(high, i / 8 % 4 * 3, 3), b.bits(high, 15, 1), i % 8);
}

double iq1M(const Reader &b, int i)
{
    int half = 0;
    for (int word = 0; word < 4; ++word)
        half += b.bits(48 + 2 * word, 12, 4) << (4 * word);
    return referenceHalf(std::uint16_t(half)) * (1 + 2 * b.bits(48 + i / 64 * 2, i / 16 % 4 * 3, 3)) *
           iq1(b.byte(i / 8) + 256 * b.bits(32, i / 8 * 4, 3), b.bits(32, i / 8 * 4 + 3, 1), i % 8);
}

double ternary(const Reader &b, int i)
{
    int byte = 0;
    int digit = 0;
    if (i < 160) {
        byte = b.byte(i % 32);
        digit = i / 32;
    } else if (i < 240) {
        byte = b.byte(32 + i % 16);
        digit = (i - 160) / 16;
    } else {
        byte = b.byte(48 + i % 4);
        digit = (i - 240) / 4;
    }
    int value = 0;
    for (int n = 0; n <= digit; ++n) {
        value = byte * 3 / 256;
        byte = byte * 3 % 256;
    }
    return b.half(52) * (value - 1);
}

double nvfp4(const Reader &b, int i)
{
    const int scale = b.byte(i / 16);
    const int exponent = scale / 8 % 16;
    const int fraction = scale % 8;
    const double d = scale == 127    ? 0
                     : exponent == 0 ? std::ldexp(fraction, -9)
                                     : std::ldexp(8 + fraction, exponent - 10);
    return d * fourBitFloat[b.bits(4 + i / 16 * 8 + i % 8, i % 16 / 8 * 4, 4)];
}

} // namespace

double superBlockValue(TensorType type, const std::byte *block, int i)
{
    const Reader b{block};
    const int piece = i / 32;
    switch (type) {
    case TensorType::Q2_K:
        return b.half(80) * b.bits(i / 16, 0, 4) * twoBits(b, 16, i) - b.half(82) * b.bits(i / 16, 4, 4);
    case TensorType::Q3_K:
        return q3K(b, i);
    case TensorType::Q4_K:
        return b.half(0) * sixBits(b, 4, piece, 0) * b.bits(16 + i / 64 * 32 + i % 32, piece % 2 * 4, 4) -
               b.half(2) * sixBits(b, 4, piece, 1);
    case TensorType::Q5_K:
        return b.half(0) * sixBits(b, 4, piece, 0) *
                   (b.bits(48 + i / 64 * 32 + i % 32, piece % 2 * 4, 4) +
                    16 * b.bits(16 + i % 32, piece, 1)) -
               b.half(2) * sixBits(b, 4, piece, 1);
    case TensorType::Q6_K:
        return q6K(b, i);
    case TensorType::Q8_K: {
        float d = 0;
        std::memcpy(&d, block, sizeof d);
        return double(d) * b.signedByte(4 + i);
    }
    case TensorType::IQ4_NL:
        return b.half(0) * nonlinear[splitNibble(b, 2, i)];
    case TensorType::IQ4_XS:
        return b.half(0) * (b.nibble(4, piece) + 16 * b.bits(2, 2 * piece, 2) - 32) *
               nonlinear[splitNibble(b, 8 + 16 * piece, i % 32)];
    case TensorType::MXFP4:
        return std::ldexp(fourBitFloat[splitNibble(b, 1, i)], b.byte(0) - 127);
    case TensorType::NVFP4:
        return nvfp4(b, i);
    case TensorType::IQ2_XXS:
    case TensorType::IQ2_XS:
    case TensorType::IQ2_S:
        return iq2(type, b, i);
    case TensorType::IQ3_XXS:
    case TensorType::IQ3_S:
        return iq3(type, b, i);
    case TensorType::IQ1_S:
        return iq1S(b, i);
    case TensorType::IQ1_M:
        return iq1M(b, i);
    case TensorType::TQ1_0:
        return ternary(b, i);
    case TensorType::TQ2_0:
        return b.half(64) * (twoBits(b, 0, i) - 1);
    default:
        return std::numeric_limits<double>::quiet_NaN();
    }
}

std::vector<ScalePlace> scalePlaces(TensorType type)
{
    switch (type) {
    case TensorType::Q2_K:
        return {{ScaleKind::Half, 80}, {ScaleKind::Half, 82}};
    case TensorType::Q3_K:
        return {{ScaleKind::Half, 108}};
    case TensorType::Q4_1:
    case TensorType::Q5_1:
    case TensorType::Q4_K:
    case TensorType::Q5_K:
        return {{ScaleKind::Half, 0}, {ScaleKind::Half, 2}};
    case TensorType::Q6_K:
        return {{ScaleKind::Half, 208}};
    case TensorType::Q8_K:
        return {{ScaleKind::Float, 0}};
    case TensorType::MXFP4:
        return {{ScaleKind::Exponent, 0}};
    case TensorType::NVFP4:
        return {}; // every pattern is a number of moderate size
    case TensorType::IQ1_M:
        return {{ScaleKind::ScatteredHalf, 48}};
    case TensorType::TQ1_0:
        return {{ScaleKind::Half, 52}};
    case TensorType::TQ2_0:
        return {{ScaleKind::Half, 64}};
    default:
        return {{ScaleKind::Half, 0}};
    }
}

void tameScales(TensorType type, std::byte *block, std::mt19937 &random)
{
    for (const auto &[kind, at] : scalePlaces(type)) {
        std::byte *p = block + at;
        const int shift = int(random() % 8) - 6;
        switch (kind) {
        case ScaleKind::Half: // sign, five bits of exponent, the upper two of the fraction
            p[1] = (p[1] & std::byte(0x83)) | std::byte((15 + shift) << 2);
            break;
        case ScaleKind::Float: {
            const int exponent = 127 + shift;
            p[3] = (p[3] & std::byte(0x80)) | std::byte(exponent >> 1);
            p[2] = (p[2] & std::byte(0x7F)) | std::byte((exponent & 1) << 7);
            break;
        }
        case ScaleKind::Exponent:
            p[0] = std::byte(127 + shift);
            break;
        case ScaleKind::ScatteredHalf: // its half bytes are the upper ones of every second byte
            p[7] = (p[7] & std::byte(0x8F)) | std::byte((15 + shift) >> 2 << 4);
            p[5] = (p[5] & std::byte(0x3F)) | std::byte(((15 + shift) & 3) << 6);
            break;
        }
    }
}

} // namespace tokenloupe::test
