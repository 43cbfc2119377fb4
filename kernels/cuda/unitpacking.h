// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/weightplanes.h"

#include <cstring>

// Host side of the layout in weightplanes.h: fields of stored blocks to the words of the planes.

namespace tokenloupe::cuda {

/// Where the unit to be packed next lies in each plane.
struct UnitPlaces
{
    std::byte *codes;
    std::byte *extra;
    std::byte *scales;
    std::byte *supers; ///< of its 256 columns
};

/// A field of a few bits for each of 32 columns: column i is byte i, in words of four.
struct UnitFields
{
    std::uint32_t words[8];
};

/// `bits` (a mask for one byte) of 32 stored bytes, after a shift to the right.
inline UnitFields fieldsFrom(const std::uint8_t *bytes, int shift, std::uint32_t mask)
{
    UnitFields fields;
    std::memcpy(fields.words, bytes, sizeof fields.words);
    for (std::uint32_t &word : fields.words)
        word = word >> shift & mask * 0x01010101U;
    return fields;
}

inline void storeWord(std::byte *out, std::uint32_t word)
{
    std::memcpy(out, &word, sizeof word);
}

template <class T>
void storeValue(std::byte *out, T value)
{
    std::memcpy(out, &value, sizeof value);
}

inline void storeFourBits(const UnitFields &fields, std::byte *out)
{
    for (int j = 0; j < 4; ++j)
        storeWord(out + 4 * j, fields.words[j] | fields.words[j + 4] << 4);
}

inline void storeTwoBits(const UnitFields &fields, std::byte *out)
{
    for (int half = 0; half < 2; ++half) {
        const std::uint32_t *words = fields.words + 4 * half;
        storeWord(out + 4 * half, words[0] | words[1] << 2 | words[2] << 4 | words[3] << 6);
    }
}

inline void storeOneBit(const UnitFields &fields, std::byte *out)
{
    std::uint32_t word = 0;
    for (int j = 0; j < 8; ++j)
        word |= fields.words[j] << j;
    storeWord(out, word);
}

/// The same from a mask with the first column's bit in the lowest.
inline void storeOneBit(std::uint32_t mask, std::byte *out)
{
    std::uint32_t word = 0;
    for (int j = 0; j < 8; j += 2) {
        // Four bits each to the lowest bits of four bytes.
        const std::uint32_t first = (mask >> (4 * j) & 15U) * 0x00204081U & 0x01010101U;
        const std::uint32_t second = (mask >> (4 * j + 4) & 15U) * 0x00204081U & 0x01010101U;
        word |= (first | second << 1) << j;
    }
    storeWord(out, word);
}

/// The low halves of eight bytes, moved together.
inline std::uint32_t joinedHalfBytes(std::uint64_t bytes)
{
    bytes &= 0x0F0F0F0F0F0F0F0FULL;
    bytes = (bytes | bytes >> 4) & 0x00FF00FF00FF00FFULL;
    bytes = (bytes | bytes >> 8) & 0x0000FFFF0000FFFFULL;
    return static_cast<std::uint32_t>(bytes | bytes >> 16);
}

/// Sixteen bytes with the first columns in the low and the last ones in the high halves, `group` bytes
/// together (16: columns 0 … 15, then 16 … 31; 8: columns 0 … 7, 8 … 15, then the same again), in order.
inline void storeInOrder(const void *bytes, int group, std::byte *out)
{
    std::uint64_t parts[2];
    std::memcpy(parts, bytes, sizeof parts);
    for (int part = 0; part < 2; ++part) {
        const int low = group == 16 ? part : 2 * part;
        storeWord(out + 4 * low, joinedHalfBytes(parts[part]));
        storeWord(out + 4 * (group == 16 ? low + 2 : low + 1), joinedHalfBytes(parts[part] >> 4));
    }
}

/// Packs `blocks` stored blocks that follow each other; `places` is that of the first unit.
using BlockPacker = void (*)(const std::byte *file, std::int64_t blocks, UnitPlaces places);

/// The packer of a type, or nullptr: of the types with blocks of 32, of those with blocks of 256 and two
/// levels of scales, of those with codebooks or ternary digits.
BlockPacker smallBlockPacker(TensorType type);
BlockPacker superBlockPacker(TensorType type);
BlockPacker codebookPacker(TensorType type);

/// Calls pack(unit, places of the unit) for the eight units of 256 columns.
template <TensorType type, class Pack>
void forEachUnit(UnitPlaces places, const Pack &pack)
{
    constexpr PlaneShape shape = planeShapeOf(type);
    for (int unit = 0; unit < superUnits; ++unit) {
        pack(unit, places);
        places.codes += shape.codes / superUnits;
        places.extra += shape.extra / superUnits;
        places.scales += shape.scales / superUnits;
    }
}

/// Packs blocks of `units` units, each by pack(block, its places).
template <TensorType type, std::size_t blockBytes, int units, class Pack>
void forEachBlock(const std::byte *file, std::int64_t blocks, UnitPlaces places, const Pack &pack)
{
    constexpr PlaneShape shape = planeShapeOf(type);
    for (std::int64_t i = 0; i < blocks; ++i) {
        pack(file, places);
        file += blockBytes;
        places.codes += shape.codes * units / superUnits;
        places.extra += shape.extra * units / superUnits;
        places.scales += shape.scales * units / superUnits;
        places.supers += shape.supers * units / superUnits;
    }
}

/// A BlockPacker for blocks of 256 columns.
template <TensorType type, class Block, void (*pack)(const Block &, const UnitPlaces &)>
void superPacker(const std::byte *file, std::int64_t blocks, UnitPlaces first)
{
    forEachBlock<type, sizeof(Block), superUnits>(file, blocks, first,
                                                  [](const std::byte *p, const UnitPlaces &places) {
                                                      Block block;
                                                      std::memcpy(&block, p, sizeof block);
                                                      pack(block, places);
                                                  });
}

} // namespace tokenloupe::cuda
