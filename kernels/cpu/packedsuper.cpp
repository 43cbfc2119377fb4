// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/packedsuper.h"

#include "kernels/formats/superblocks.h"

#include <cstring>

namespace tokenloupe {

namespace {

using FourWords [[gnu::vector_size(16)]] = std::uint32_t;

FourWords loadFour(const std::byte *p)
{
    FourWords words;
    std::memcpy(&words, p, sizeof words);
    return words;
}

/// Four words of four rows each, to four lines of a stripe.
void transposeFour(const std::byte *const *rows, int at, std::byte *out)
{
    const FourWords a = loadFour(rows[0] + at);
    const FourWords b = loadFour(rows[1] + at);
    const FourWords c = loadFour(rows[2] + at);
    const FourWords d = loadFour(rows[3] + at);
    const FourWords lowAb = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const FourWords highAb = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const FourWords lowCd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const FourWords highCd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    const FourWords lines[4] = {__builtin_shufflevector(lowAb, lowCd, 0, 1, 4, 5),
                                __builtin_shufflevector(lowAb, lowCd, 2, 3, 6, 7),
                                __builtin_shufflevector(highAb, highCd, 0, 1, 4, 5),
                                __builtin_shufflevector(highAb, highCd, 2, 3, 6, 7)};
    for (int i = 0; i < 4; ++i)
        std::memcpy(out + i * 4 * stripeRows, &lines[i], sizeof lines[i]);
}

/// One block of 16 rows. Types with a number of words that four does not divide write some twice.
void packBlock(const WordShape &shape, const std::byte *const (&rows)[stripeRows], std::byte *scales,
               std::byte *codes)
{
    if (shape.scaleBytes == 2) {
        for (int r = 0; r < stripeRows; ++r)
            std::memcpy(scales + 2 * r, rows[r] + shape.scaleAt, 2);
    } else if (shape.scaleBytes == 1) {
        for (int r = 0; r < stripeRows; ++r)
            scales[r] = rows[r][shape.scaleAt];
    }
    for (int word = 0; word < shape.words; word += 4) {
        const int first = word + 4 <= shape.words ? word : shape.words - 4;
        for (int r = 0; r < stripeRows; r += 4)
            transposeFour(rows + r, shape.wordsAt + 4 * first, codes + (first * stripeRows + r) * 4);
    }
}

} // namespace

WordShape wordShapeOf(TensorType type)
{
    constexpr std::int64_t super = superBlockValues;
    switch (type) {
    case TensorType::Q2_K:
        return {super, sizeof(BlockQ2_K), 21, 0, 0, 0};
    case TensorType::Q3_K:
        return {super, sizeof(BlockQ3_K), 27, 0, 2, offsetof(BlockQ3_K, d)};
    case TensorType::Q4_K:
        return {super, sizeof(BlockQ4_K), 36, 0, 0, 0};
    case TensorType::Q5_K:
        return {super, sizeof(BlockQ5_K), 44, 0, 0, 0};
    case TensorType::Q6_K:
        return {super, sizeof(BlockQ6_K), 52, 0, 2, offsetof(BlockQ6_K, d)};
    case TensorType::IQ4_XS:
        return {super, sizeof(BlockIQ4_XS), 34, 0, 0, 0};
    case TensorType::IQ4_NL:
        return {quantBlockValues, sizeof(BlockIQ4_NL), 4, offsetof(BlockIQ4_NL, q), 2, 0};
    case TensorType::MXFP4:
        return {quantBlockValues, sizeof(BlockMXFP4), 4, offsetof(BlockMXFP4, q), 1, 0};
    default:
        return {};
    }
}

void packWordStripes(const WordShape &shape, const WeightMatrix &w, std::int64_t begin, std::int64_t end,
                     std::byte *packed)
{
    // What rows behind the last read, over and over.
    static constexpr std::byte nothing[256] = {};
    static_assert(sizeof(BlockQ6_K) < sizeof nothing);
    const std::int64_t blocks = w.columns / shape.blockValues;
    const std::int64_t stripeBytes = shape.stripeBytes(blocks);
    const std::int64_t scaleBytes = shape.stripeScaleBytes(blocks);
    for (std::int64_t stripe = begin; stripe < end; ++stripe) {
        std::byte *scales = packed + stripe * stripeBytes;
        std::byte *codes = scales + scaleBytes;
        const std::byte *rows[stripeRows];
        const std::int64_t used = w.rows - stripe * stripeRows;
        for (int r = 0; r < stripeRows; ++r)
            rows[r] = r < used ? w.data + (stripe * stripeRows + r) * blocks * shape.fileBytes : nothing;
        const std::int64_t written = blocks * shape.scaleBytes * stripeRows;
        std::memset(scales + written, 0, std::size_t(scaleBytes - written));
        for (std::int64_t block = 0; block < blocks; ++block) {
            packBlock(shape, rows, scales, codes);
            scales += shape.scaleBytes * stripeRows;
            codes += shape.words * 4 * stripeRows;
            for (int r = 0; r < stripeRows && r < used; ++r)
                rows[r] += shape.fileBytes;
        }
    }
}

void unpackWordRow(const WordShape &shape, const PackedMatrix &w, std::int64_t row, std::byte *out)
{
    const std::int64_t blocks = w.columns / shape.blockValues;
    const std::byte *stripe = w.data + row / stripeRows * shape.stripeBytes(blocks);
    const std::byte *scale = stripe + row % stripeRows * shape.scaleBytes;
    const std::byte *word = stripe + shape.stripeScaleBytes(blocks) + row % stripeRows * 4;
    for (std::int64_t block = 0; block < blocks; ++block, out += shape.fileBytes) {
        std::memcpy(out + shape.scaleAt, scale, std::size_t(shape.scaleBytes));
        scale += shape.scaleBytes * stripeRows;
        for (int i = 0; i < shape.words; ++i, word += 4 * stripeRows)
            std::memcpy(out + shape.wordsAt + 4 * i, word, 4);
    }
}

} // namespace tokenloupe
