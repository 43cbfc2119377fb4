// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/base/strongindex.h"
#include "engine/cache/kvshape.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tokenloupe {

/// Fixed number of equal blocks. A block holds, for every layer, K then V of blockTokens tokens, each laid
/// out (kvHead, slot, headSize), so that one head's keys of a block are contiguous. Memory is reserved at
/// once but becomes resident only as blocks are written (anonymous mapping). Not thread-safe; the engine
/// thread's.
class BlockPool
{
public:
    /// OutOfMemory names the bytes wanted.
    static Result<BlockPool> create(KvShape shape, std::uint32_t blocks);
    BlockPool(BlockPool &&) noexcept;
    BlockPool &operator=(BlockPool &&) noexcept;
    ~BlockPool();

    const KvShape &shape() const { return m_shape; }
    std::uint32_t capacity() const { return m_capacity; }
    std::uint32_t freeBlocks() const { return static_cast<std::uint32_t>(m_free.size()); }

    Result<BlockId> take(); ///< lowest free id first; ContextFull when none is left
    void give(BlockId block);

    /// First byte of K (or V) of one head in one block: blockTokens × headSize values follow.
    std::byte *keys(BlockId block, LayerIndex layer, std::uint32_t kvHead) const;
    std::byte *values(BlockId block, LayerIndex layer, std::uint32_t kvHead) const;

private:
    BlockPool() = default;
    KvShape m_shape;
    std::uint32_t m_capacity = 0;
    std::vector<std::uint32_t> m_free; // min-heap of ids
    std::vector<std::uint64_t> m_layerOffset;
    std::byte *m_memory = nullptr;
    std::uint64_t m_bytes = 0;
};

} // namespace tokenloupe
