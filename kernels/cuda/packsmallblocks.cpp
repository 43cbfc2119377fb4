// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/unitpacking.h"
#include "kernels/formats/superblocks.h"

#include <cstddef>

// Blocks of 32 (NVFP4: 64) columns are read where they lie: bytes of a copy that were just written in other
// pieces would be waited for.

namespace tokenloupe::cuda {

namespace {

void copyBytes(const std::byte *from, std::size_t bytes, std::byte *to)
{
    std::memcpy(to, from, bytes);
}

void storeFifthBits(const std::byte *bits, std::byte *out)
{
    std::uint32_t mask = 0;
    std::memcpy(&mask, bits, sizeof mask);
    storeOneBit(mask, out);
}

/// Q4_0, Q4_1, Q5_0 and Q5_1: one or two binary16, which lead the block; fifth bits, where there are such;
/// the codes, which lie as they have to.
template <TensorType type, class Block, std::size_t scaleBytes>
void nibblePacker(const std::byte *file, std::int64_t blocks, UnitPlaces first)
{
    forEachBlock<type, sizeof(Block), 1>(file, blocks, first,
                                         [](const std::byte *p, const UnitPlaces &places) {
                                             copyBytes(p + offsetof(Block, q), 16, places.codes);
                                             copyBytes(p, scaleBytes, places.scales);
                                             if constexpr (planeShapeOf(type).extra != 0)
                                                 storeFifthBits(p + offsetof(Block, high), places.extra);
                                         });
}

void packQ8_0(const std::byte *file, std::int64_t blocks, UnitPlaces first)
{
    forEachBlock<TensorType::Q8_0, sizeof(BlockQ8_0), 1>(
        file, blocks, first, [](const std::byte *p, const UnitPlaces &places) {
            copyBytes(p + offsetof(BlockQ8_0, q), 16, places.codes);
            copyBytes(p + offsetof(BlockQ8_0, q) + 16, 16, places.extra);
            copyBytes(p, 2, places.scales);
        });
}

/// IQ4_NL and MXFP4: a scale of one or two bytes leads the block.
template <TensorType type, class Block, std::size_t scaleBytes>
void levelPacker(const std::byte *file, std::int64_t blocks, UnitPlaces first)
{
    forEachBlock<type, sizeof(Block), 1>(file, blocks, first,
                                         [](const std::byte *p, const UnitPlaces &places) {
                                             storeInOrder(p + offsetof(Block, q), 16, places.codes);
                                             copyBytes(p, scaleBytes, places.scales);
                                         });
}

void packNVFP4(const std::byte *file, std::int64_t blocks, UnitPlaces first)
{
    forEachBlock<TensorType::NVFP4, sizeof(BlockNVFP4), 2>(
        file, blocks, first, [](const std::byte *p, const UnitPlaces &places) {
            const std::byte *q = p + offsetof(BlockNVFP4, q);
            storeInOrder(q, 8, places.codes);
            storeInOrder(q + 16, 8, places.codes + 16);
            copyBytes(p, 4, places.scales);
        });
}

} // namespace

BlockPacker smallBlockPacker(TensorType type)
{
    switch (type) {
    case TensorType::Q4_0:
        return nibblePacker<TensorType::Q4_0, BlockQ4_0, 2>;
    case TensorType::Q4_1:
        return nibblePacker<TensorType::Q4_1, BlockQ4_1, 4>;
    case TensorType::Q5_0:
        return nibblePacker<TensorType::Q5_0, BlockQ5_0, 2>;
    case TensorType::Q5_1:
        return nibblePacker<TensorType::Q5_1, BlockQ5_1, 4>;
    case TensorType::Q8_0:
        return packQ8_0;
    case TensorType::IQ4_NL:
        return levelPacker<TensorType::IQ4_NL, BlockIQ4_NL, 2>;
    case TensorType::MXFP4:
        return levelPacker<TensorType::MXFP4, BlockMXFP4, 1>;
    case TensorType::NVFP4:
        return packNVFP4;
    default:
        return nullptr;
    }
}

} // namespace tokenloupe::cuda
