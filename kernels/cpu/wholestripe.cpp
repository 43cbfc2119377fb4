// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/wholestripe.h"

#include "kernels/cpu/packedformat.h"

#include <array>
#include <cstring>

namespace tokenloupe {

namespace {

/// Four 32-bit words in a register of any machine that has registers of 16 bytes.
using Words = std::uint32_t __attribute__((vector_size(16)));

static_assert(stripeRows == 16, "four registers of four words");

Words load(const std::byte *p)
{
    Words words;
    std::memcpy(&words, p, sizeof words);
    return words;
}

/// 16 bytes of each of the 16 rows -> four lines, each with the same four bytes of every row.
void transpose(const std::byte *const rows[stripeRows], std::int64_t offset, std::uint32_t flip,
               std::byte *out)
{
    for (int group = 0; group < 4; ++group) {
        const Words a = load(rows[4 * group] + offset);
        const Words b = load(rows[4 * group + 1] + offset);
        const Words c = load(rows[4 * group + 2] + offset);
        const Words d = load(rows[4 * group + 3] + offset);
        const Words abLow = __builtin_shuffle(a, b, Words{0, 4, 1, 5});
        const Words abHigh = __builtin_shuffle(a, b, Words{2, 6, 3, 7});
        const Words cdLow = __builtin_shuffle(c, d, Words{0, 4, 1, 5});
        const Words cdHigh = __builtin_shuffle(c, d, Words{2, 6, 3, 7});
        const std::array<Words, 4> lines = {__builtin_shuffle(abLow, cdLow, Words{0, 1, 4, 5}),
                                            __builtin_shuffle(abLow, cdLow, Words{2, 3, 6, 7}),
                                            __builtin_shuffle(abHigh, cdHigh, Words{0, 1, 4, 5}),
                                            __builtin_shuffle(abHigh, cdHigh, Words{2, 3, 6, 7})};
        for (int line = 0; line < 4; ++line) {
            const Words words = lines[line] ^ flip;
            std::memcpy(out + line * 4 * stripeRows + group * 16, &words, sizeof words);
        }
    }
}

/// What the bits of one byte become: two bits in each byte of a word.
constexpr std::array<std::uint32_t, 256> spreadBytes()
{
    std::array<std::uint32_t, 256> table{};
    for (unsigned byte = 0; byte < 256; ++byte) {
        for (unsigned bit = 0; bit < 8; ++bit)
            table[byte] |= ((byte >> bit) & 1U) << (8 * (bit % 4) + bit / 4);
    }
    return table;
}

constexpr std::array<std::uint32_t, 256> spreadTable = spreadBytes();

template <int ScaleHalves, int FifthBytes, int CodeBytes, unsigned Flip>
void pack(const std::byte *first, std::int64_t rowBytes, std::int64_t blocks, std::byte *scales,
          std::byte *codes)
{
    constexpr int fileBytes = 2 * ScaleHalves + FifthBytes + CodeBytes;
    const std::byte *rows[stripeRows];
    for (int row = 0; row < stripeRows; ++row)
        rows[row] = first + row * rowBytes;
    for (std::int64_t offset = 0; offset < blocks * fileBytes;) {
        for (int half = 0; half < ScaleHalves; ++half, offset += 2, scales += 2 * stripeRows) {
            for (int row = 0; row < stripeRows; ++row)
                std::memcpy(scales + 2 * row, rows[row] + offset, 2);
        }
        if constexpr (FifthBytes > 0) {
            for (int row = 0; row < stripeRows; ++row) {
                std::uint32_t bits = 0;
                std::memcpy(&bits, rows[row] + offset, sizeof bits);
                bits = spreadFifthBits(bits);
                std::memcpy(codes + 4 * row, &bits, sizeof bits);
            }
            offset += FifthBytes;
            codes += FifthBytes * stripeRows;
        }
        for (int part = 0; part < CodeBytes; part += 16, offset += 16, codes += 16 * stripeRows)
            transpose(rows, offset, 0x01010101U * Flip, codes);
    }
}

} // namespace

std::uint32_t spreadFifthBits(std::uint32_t bits)
{
    return spreadTable[bits & 0xFF] | (spreadTable[(bits >> 8) & 0xFF] << 2) |
           (spreadTable[(bits >> 16) & 0xFF] << 4) | (spreadTable[bits >> 24] << 6);
}

void packWholeStripe(const BlockShape &shape, const std::byte *rows, std::int64_t rowBytes,
                     std::int64_t blocks, std::byte *scales, std::byte *codes)
{
    if (shape.codeBytes == 32)
        return pack<1, 0, 32, 0x80>(rows, rowBytes, blocks, scales, codes);
    if (shape.fifthBytes > 0)
        return shape.scaleHalves == 2 ? pack<2, 4, 16, 0>(rows, rowBytes, blocks, scales, codes)
                                      : pack<1, 4, 16, 0>(rows, rowBytes, blocks, scales, codes);
    return shape.scaleHalves == 2 ? pack<2, 0, 16, 0>(rows, rowBytes, blocks, scales, codes)
                                  : pack<1, 0, 16, 0>(rows, rowBytes, blocks, scales, codes);
}

} // namespace tokenloupe
