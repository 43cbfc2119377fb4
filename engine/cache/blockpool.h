// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/base/strongindex.h"
#include "engine/cache/kvmemory.h"
#include "engine/cache/kvshape.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tokenloupe {

/// Where a layer's rows lie in a pool on a device: the rows of a head in a block begin at
/// keys + block · keyBlockStride + head · keyHeadStride, and follow each other.
struct KvBlockPlaces
{
    std::byte *keys = nullptr;
    std::byte *values = nullptr;
    std::uint64_t keyBlockStride = 0; ///< bytes
    std::uint64_t valueBlockStride = 0;
    std::uint64_t keyHeadStride = 0;
    std::uint64_t valueHeadStride = 0;

    bool operator==(const KvBlockPlaces &) const = default;
};

/// Fixed number of equal blocks for the layers of one group. A block holds K and V of blockTokens tokens for
/// each of these layers; one head's keys (or values) of a block are contiguous, and in the host's memory
/// mostly those of the next block follow. Where the memory lies is the allocator's matter; the host's is
/// reserved at once but becomes resident only as blocks are written. Blocks are reference-counted: everyone
/// who keeps one holds a reference. Not thread-safe; the engine thread's.
class BlockPool
{
public:
    /// OutOfMemory names the bytes wanted.
    static Result<BlockPool> create(const KvShape &shape, KvLayerGroup group, std::uint32_t blocks,
                                    const KvAllocator &allocate = hostKvMemory);
    const KvShape &shape() const { return m_shape; } ///< of the whole model
    const KvLayerGroup &group() const { return m_group; }
    std::uint32_t capacity() const { return static_cast<std::uint32_t>(m_references.size()); }
    std::uint32_t freeBlocks() const { return static_cast<std::uint32_t>(m_free.size()); }
    std::uint64_t bytes() const { return m_memory->bytes(); } ///< all blocks
    std::uint64_t blockBytes() const { return bytes() / capacity(); }
    /// Whether keys() and values() can be read and written here; a device's memory knows places() instead.
    bool isOnHost() const { return m_memory->reader() == KvMemory::Reader::Host; }

    Result<BlockId> take();      ///< with one reference; lowest free id first; ContextFull when none is left
    void share(BlockId block);   ///< one reference more
    void release(BlockId block); ///< one less; free after the last
    std::uint32_t references(BlockId block) const { return m_references[block.value()]; }

    /// The first `slots` slots of every layer's keys and values.
    void copySlots(BlockId from, BlockId to, std::uint32_t slots);
    /// Touches every page, so that all of it is resident from now on. Contents stay.
    void commit();

    KvBlockPlaces places(LayerIndex layer) const;
    /// First byte of K (or V) of one head in one block: blockTokens rows follow. `layer` is one of the group.
    std::byte *keys(BlockId block, LayerIndex layer, std::uint32_t kvHead) const;
    std::byte *values(BlockId block, LayerIndex layer, std::uint32_t kvHead) const;

private:
    /// Where a layer's rows lie in a block's share of the two planes.
    struct LayerPlace
    {
        std::uint64_t keys = 0;   // offset of the first head
        std::uint64_t values = 0; // offset of the first head
        std::uint64_t keyHeadBytes = 0;
        std::uint64_t valueHeadBytes = 0;
    };

    BlockPool() = default;
    KvShape m_shape;
    KvLayerGroup m_group;
    std::vector<LayerPlace> m_places;        // by layer of the model
    std::vector<std::uint32_t> m_references; // by block
    std::vector<std::uint32_t> m_free;       // min-heap of ids
    std::unique_ptr<KvMemory> m_memory;
    std::uint32_t m_neighbours = 1; // blocks whose rows of one head lie in one stretch
    // All blocks' keys lie together, and so do all values; the type that needs the wider alignment comes
    // first.
    std::byte *m_keys = nullptr;
    std::byte *m_values = nullptr;
    std::uint64_t m_keyStride = 0; // bytes of one block's keys, all layers of the group
    std::uint64_t m_valueStride = 0;
};

} // namespace tokenloupe
