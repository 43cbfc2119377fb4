// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/packedformat.h"

#include "kernels/cpu/packedsuper.h"
#include "kernels/cpu/wholestripe.h"
#include "kernels/formats/blocks.h"

#include <cstring>

namespace tokenloupe {

namespace {

BlockShape shapeOf(TensorType type)
{
    switch (type) {
    case TensorType::Q4_0:
        return {1, 0, 16, 0};
    case TensorType::Q4_1:
        return {2, 0, 16, 0};
    case TensorType::Q5_0:
        return {1, 4, 16, 0};
    case TensorType::Q5_1:
        return {2, 4, 16, 0};
    case TensorType::Q8_0:
        return {1, 0, 32, 0x80};
    default:
        return {};
    }
}

/// Inverse of spreadFifthBits().
std::uint32_t gatherFifthBits(std::uint32_t bits)
{
    std::uint32_t out = 0;
    for (unsigned k = 0; k < 4; ++k) {
        for (unsigned j = 0; j < 8; ++j)
            out |= ((bits >> (8 * k + j)) & 1U) << (4 * j + k);
    }
    return out;
}

/// Of `blocks` blocks, in a stripe.
std::int64_t scaleBytes(const BlockShape &shape, std::int64_t blocks)
{
    return (blocks * shape.scaleHalves * 2 * stripeRows + 63) / 64 * 64;
}

/// Of one block, in a stripe.
std::int64_t stripeCodeBytes(const BlockShape &shape)
{
    return std::int64_t(shape.fifthBytes + shape.codeBytes) * stripeRows;
}

std::uint32_t readWord(const std::byte *p)
{
    std::uint32_t word = 0;
    std::memcpy(&word, p, sizeof word);
    return word;
}

void writeWord(std::byte *p, std::uint32_t word)
{
    std::memcpy(p, &word, sizeof word);
}

/// Where a row's numbers of one block lie in a stripe.
struct Place
{
    Place(const BlockShape &shape, std::int64_t columns, std::int64_t block, int row)
        : scales(block * shape.scaleHalves * 2 * stripeRows + 2 * std::int64_t(row))
        , codes(scaleBytes(shape, columns / quantBlockValues) + block * stripeCodeBytes(shape) +
                4 * std::int64_t(row))
    {}
    std::int64_t scales; // of the first; the next is 32 bytes further
    std::int64_t codes;  // of the first four bytes; the next are 64 bytes further
};

void packBlock(const BlockShape &shape, const std::byte *from, std::byte *scales, std::byte *codes)
{
    for (int i = 0; i < shape.scaleHalves; ++i, from += 2, scales += 2 * stripeRows)
        std::memcpy(scales, from, 2);
    if (shape.fifthBytes > 0) {
        writeWord(codes, spreadFifthBits(readWord(from)));
        codes += 4 * stripeRows;
        from += 4;
    }
    const std::uint32_t flip = 0x01010101U * shape.flip;
    for (int i = 0; i < shape.codeBytes; i += 4, from += 4, codes += 4 * stripeRows)
        writeWord(codes, readWord(from) ^ flip);
}

void unpackBlock(const BlockShape &shape, const std::byte *scales, const std::byte *codes, std::byte *out)
{
    for (int i = 0; i < shape.scaleHalves; ++i, out += 2, scales += 2 * stripeRows)
        std::memcpy(out, scales, 2);
    if (shape.fifthBytes > 0) {
        writeWord(out, gatherFifthBits(readWord(codes)));
        codes += 4 * stripeRows;
        out += 4;
    }
    const std::uint32_t flip = 0x01010101U * shape.flip;
    for (int i = 0; i < shape.codeBytes; i += 4, out += 4, codes += 4 * stripeRows)
        writeWord(out, readWord(codes) ^ flip);
}

} // namespace

bool isPackable(TensorType type)
{
    return shapeOf(type).codeBytes > 0 || wordShapeOf(type).blockValues > 0;
}

std::int64_t packedStripeBytes(TensorType type, std::int64_t columns)
{
    if (const WordShape words = wordShapeOf(type); words.blockValues > 0)
        return words.stripeBytes(columns / words.blockValues);
    const BlockShape shape = shapeOf(type);
    const std::int64_t blocks = columns / quantBlockValues;
    return scaleBytes(shape, blocks) + blocks * stripeCodeBytes(shape);
}

std::int64_t packedBytes(TensorType type, std::int64_t rows, std::int64_t columns)
{
    return stripesOf(rows) * packedStripeBytes(type, columns);
}

void packStripes(const WeightMatrix &w, std::int64_t begin, std::int64_t end, std::byte *packed)
{
    if (const WordShape words = wordShapeOf(w.type); words.blockValues > 0)
        return packWordStripes(words, w, begin, end, packed);
    const BlockShape shape = shapeOf(w.type);
    const std::int64_t blocks = w.columns / quantBlockValues;
    const std::int64_t stripeBytes = packedStripeBytes(w.type, w.columns);
    for (std::int64_t stripe = begin; stripe < end; ++stripe) {
        std::byte *out = packed + stripe * stripeBytes;
        const std::int64_t first = stripe * stripeRows;
        const std::int64_t rowBytes = blocks * shape.fileBytes();
        if (w.rows - first >= stripeRows) {
            const std::int64_t used = blocks * shape.scaleHalves * 2 * stripeRows;
            std::memset(out + used, 0, std::size_t(scaleBytes(shape, blocks) - used));
            packWholeStripe(shape, w.data + first * rowBytes, rowBytes, blocks, out,
                            out + scaleBytes(shape, blocks));
            continue;
        }
        const int used = int(w.rows - first);
        std::memset(out, 0, std::size_t(stripeBytes));
        for (int row = 0; row < used; ++row) {
            const std::byte *from = w.data + (first + row) * rowBytes;
            for (std::int64_t block = 0; block < blocks; ++block, from += shape.fileBytes()) {
                const Place place(shape, w.columns, block, row);
                packBlock(shape, from, out + place.scales, out + place.codes);
            }
        }
    }
}

void unpackRow(const PackedMatrix &w, std::int64_t row, std::byte *out)
{
    if (const WordShape words = wordShapeOf(w.type); words.blockValues > 0)
        return unpackWordRow(words, w, row, out);
    const BlockShape shape = shapeOf(w.type);
    const std::byte *stripe = w.data + row / stripeRows * packedStripeBytes(w.type, w.columns);
    for (std::int64_t block = 0; block < w.columns / quantBlockValues; ++block, out += shape.fileBytes()) {
        const Place place(shape, w.columns, block, int(row % stripeRows));
        unpackBlock(shape, stripe + place.scales, stripe + place.codes, out);
    }
}

} // namespace tokenloupe
