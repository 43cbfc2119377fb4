// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/base/strongindex.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tokenloupe {

enum class KvType : std::uint8_t { F32, F16 };
std::string_view kvTypeName(KvType type); ///< "f32"
Result<KvType> kvTypeOf(std::string_view name);
std::uint32_t kvTypeBytes(KvType type);

/// What a KV cache holds, per layer: kvHeads[l] heads of headSize keys and valueHeadSize values per token.
struct KvShape
{
    std::vector<std::uint32_t> kvHeads; ///< per layer
    std::uint32_t headSize = 0;
    std::uint32_t valueHeadSize = 0;
    KvType keyType = KvType::F32;
    KvType valueType = KvType::F32;
    std::uint32_t blockTokens = 16;

    std::uint32_t layers() const { return static_cast<std::uint32_t>(kvHeads.size()); }
    std::uint64_t bytesPerToken(std::uint32_t layer) const; ///< K and V of one layer
    std::uint64_t bytesPerToken() const;                    ///< Σ over layers
    std::uint64_t blockBytes() const { return bytesPerToken() * blockTokens; }
};

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
