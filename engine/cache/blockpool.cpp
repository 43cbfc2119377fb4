// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/blockpool.h"

#include "engine/base/checkedmath.h"
#include "engine/cache/hostmemory.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>
#include <sys/mman.h>
#include <utility>

namespace tokenloupe {

namespace {

Status checkShape(const KvShape &shape, std::uint32_t blocks)
{
    const auto wrong = [](std::string message) {
        return makeError(ErrorCode::InvalidArgument, "KV cache", std::move(message));
    };
    if (shape.layers.empty())
        return wrong("a model without layers has no keys and values");
    for (const KvLayerShape &layer : shape.layers) {
        if (layer.keySize == 0 || layer.valueSize == 0)
            return wrong("head sizes must be positive, got " + std::to_string(layer.keySize) + " and " +
                         std::to_string(layer.valueSize));
        if (layer.heads == 0)
            return wrong("every layer needs at least one KV head");
    }
    if (shape.blockTokens == 0)
        return wrong("a block must hold at least one token");
    // With two types in one block, values that follow an odd number of halves would lie across a float's
    // address.
    if (shape.keyType != shape.valueType && shape.blockTokens % 2 != 0)
        return wrong("blocks of " + std::to_string(shape.blockTokens) +
                     " tokens cannot mix types: an even number is needed");
    if (blocks == 0)
        return wrong("at least one block is needed");
    return {};
}

} // namespace

Result<BlockPool> BlockPool::create(KvShape shape, std::uint32_t blocks)
{
    if (Status good = checkShape(shape, blocks); !good)
        return tl::unexpected(good.error());

    BlockPool pool;
    CheckedSize offset;
    for (std::uint32_t layer = 0; layer < shape.layers.size(); ++layer) {
        pool.m_layerOffset.push_back(offset.value());
        offset += CheckedSize(shape.bytesPerToken(layer)) * shape.blockTokens;
    }
    const CheckedSize bytes = offset * blocks;
    if (!bytes.isValid())
        return makeError(ErrorCode::InvalidArgument, "KV cache",
                         std::to_string(blocks) + " blocks of " + std::to_string(shape.blockTokens) +
                             " tokens, " + std::to_string(shape.bytesPerToken()) +
                             " bytes a token, are more than this machine can address");
    if (exceedsHostMemory(bytes.value()))
        return outOfHostMemory("KV cache", bytes.value());
    void *memory = mmap(nullptr, bytes.value(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return outOfHostMemory("KV cache", bytes.value());

    pool.m_memory = static_cast<std::byte *>(memory);
    pool.m_bytes = bytes.value();
    pool.m_shape = std::move(shape);
    pool.m_capacity = blocks;
    pool.m_free.resize(blocks);
    std::iota(pool.m_free.begin(), pool.m_free.end(), 0U); // sorted, so a heap already
    return pool;
}

BlockPool::BlockPool(BlockPool &&other) noexcept
{
    *this = std::move(other);
}

BlockPool &BlockPool::operator=(BlockPool &&other) noexcept
{
    if (this == &other)
        return *this;
    std::swap(m_shape, other.m_shape);
    std::swap(m_capacity, other.m_capacity);
    std::swap(m_free, other.m_free);
    std::swap(m_layerOffset, other.m_layerOffset);
    std::swap(m_memory, other.m_memory);
    std::swap(m_bytes, other.m_bytes);
    return *this;
}

BlockPool::~BlockPool()
{
    if (m_memory)
        munmap(m_memory, m_bytes);
}

Result<BlockId> BlockPool::take()
{
    if (m_free.empty())
        return makeError(ErrorCode::ContextFull, "KV cache",
                         "all " + std::to_string(m_capacity) + " blocks are in use");
    std::pop_heap(m_free.begin(), m_free.end(), std::greater<>());
    const BlockId block(m_free.back());
    m_free.pop_back();
    return block;
}

void BlockPool::give(BlockId block)
{
    assert(block.value() < m_capacity);
    assert(std::find(m_free.begin(), m_free.end(), block.value()) == m_free.end());
    m_free.push_back(block.value());
    std::push_heap(m_free.begin(), m_free.end(), std::greater<>());
}

std::byte *BlockPool::keys(BlockId block, LayerIndex layer, std::uint32_t kvHead) const
{
    assert(block.value() < m_capacity && layer.value() < m_shape.layers.size());
    assert(kvHead < m_shape.layers[layer.value()].heads);
    const std::uint64_t headBytes =
        m_shape.blockTokens * kvRowBytes(m_shape.keyType, m_shape.layers[layer.value()].keySize);
    return m_memory + block.value() * (m_bytes / m_capacity) + m_layerOffset[layer.value()] +
           kvHead * headBytes;
}

std::byte *BlockPool::values(BlockId block, LayerIndex layer, std::uint32_t kvHead) const
{
    const std::uint64_t keyBytes = m_shape.blockTokens * m_shape.keyBytesPerToken(layer.value());
    const std::uint64_t headBytes =
        m_shape.blockTokens * kvRowBytes(m_shape.valueType, m_shape.layers[layer.value()].valueSize);
    return keys(block, layer, 0) + keyBytes + kvHead * headBytes;
}

} // namespace tokenloupe
