// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/blockpool.h"

#include "engine/base/checkedmath.h"
#include "engine/cache/hostmemory.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace tokenloupe {

namespace {

Status checkShape(const KvShape &shape, const KvLayerGroup &group, std::uint32_t blocks)
{
    const auto wrong = [](std::string message) {
        return makeError(ErrorCode::InvalidArgument, "KV cache", std::move(message));
    };
    if (group.layers.empty())
        return wrong("a model without layers has no keys and values");
    for (const std::uint32_t index : group.layers) {
        const KvLayerShape &layer = shape.layers[index];
        if (layer.keySize == 0 || layer.valueSize == 0)
            return wrong("head sizes must be positive, got " + std::to_string(layer.keySize) + " and " +
                         std::to_string(layer.valueSize));
        if (layer.heads == 0)
            return wrong("every layer needs at least one KV head");
        if (Status good = checkKvType(shape.keyType, layer.keySize, "key"); !good)
            return good;
        if (Status good = checkKvType(shape.valueType, layer.valueSize, "value"); !good)
            return good;
    }
    if (shape.blockTokens == 0)
        return wrong("a block must hold at least one token");
    if (blocks == 0)
        return wrong("at least one block is needed");
    return {};
}

// Sequences mostly hold blocks with numbers that follow each other: one head's rows of so many tokens lie in
// one stretch, long enough for the processor to read it as one, short enough that a first token does not make
// the whole pool resident.
constexpr std::uint32_t neighbourTokens = 256;

/// Where a head's rows of one block lie in a plane, of which each block has `stride` bytes; `before` is how
/// many of these belong to other layers and heads.
std::uint64_t placeOf(BlockId block, const BlockPool &pool, std::uint64_t stride, std::uint64_t before,
                      std::uint64_t headBytes)
{
    const std::uint64_t neighbours = std::max(1U, neighbourTokens / pool.shape().blockTokens);
    const std::uint64_t first = block.value() / neighbours * neighbours;
    const std::uint64_t count = std::min(neighbours, pool.capacity() - first);
    return first * stride + before * count + (block.value() - first) * headBytes;
}

} // namespace

Result<BlockPool> BlockPool::create(const KvShape &shape, KvLayerGroup group, std::uint32_t blocks)
{
    if (Status good = checkShape(shape, group, blocks); !good)
        return tl::unexpected(good.error());

    BlockPool pool;
    pool.m_places.resize(shape.layers.size());
    CheckedSize keys;
    CheckedSize values;
    for (const std::uint32_t index : group.layers) {
        const KvLayerShape &layer = shape.layers[index];
        LayerPlace &place = pool.m_places[index];
        place.keys = keys.value();
        place.values = values.value();
        place.keyHeadBytes =
            (CheckedSize(kvRowBytes(shape.keyType, layer.keySize)) * shape.blockTokens).value();
        place.valueHeadBytes =
            (CheckedSize(kvRowBytes(shape.valueType, layer.valueSize)) * shape.blockTokens).value();
        keys += CheckedSize(place.keyHeadBytes) * layer.heads;
        values += CheckedSize(place.valueHeadBytes) * layer.heads;
    }
    const CheckedSize bytes = (keys + values) * blocks;
    if (!bytes.isValid())
        return makeError(ErrorCode::InvalidArgument, "KV cache",
                         std::to_string(blocks) + " blocks of " + std::to_string(shape.blockTokens) +
                             " tokens are more than this machine can address");
    if (exceedsHostMemory(bytes.value()))
        return outOfHostMemory("KV cache", bytes.value());
    void *memory = mmap(nullptr, bytes.value(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return outOfHostMemory("KV cache", bytes.value());
#ifdef MADV_HUGEPAGE
    // A token reads a little of each of many blocks: with small pages their addresses cost more than they do.
    madvise(memory, bytes.value(), MADV_HUGEPAGE);
#endif

    pool.m_memory = static_cast<std::byte *>(memory);
    pool.m_bytes = bytes.value();
    pool.m_keyStride = keys.value();
    pool.m_valueStride = values.value();
    // Rows of every type but f32 are a multiple of two bytes long and need no more alignment.
    const bool keysFirst = shape.keyType == KvType::F32 || shape.valueType != KvType::F32;
    pool.m_keys = pool.m_memory + (keysFirst ? 0 : pool.m_valueStride * blocks);
    pool.m_values = pool.m_memory + (keysFirst ? pool.m_keyStride * blocks : 0);
    pool.m_shape = shape;
    pool.m_group = std::move(group);
    pool.m_references.resize(blocks);
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
    std::swap(m_group, other.m_group);
    std::swap(m_places, other.m_places);
    std::swap(m_references, other.m_references);
    std::swap(m_free, other.m_free);
    std::swap(m_memory, other.m_memory);
    std::swap(m_bytes, other.m_bytes);
    std::swap(m_keys, other.m_keys);
    std::swap(m_values, other.m_values);
    std::swap(m_keyStride, other.m_keyStride);
    std::swap(m_valueStride, other.m_valueStride);
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
                         "all " + std::to_string(capacity()) + " blocks are in use");
    std::pop_heap(m_free.begin(), m_free.end(), std::greater<>());
    const BlockId block(m_free.back());
    m_free.pop_back();
    m_references[block.value()] = 1;
    return block;
}

void BlockPool::share(BlockId block)
{
    assert(block.value() < capacity() && references(block) > 0);
    ++m_references[block.value()];
}

void BlockPool::release(BlockId block)
{
    assert(block.value() < capacity() && references(block) > 0);
    if (--m_references[block.value()] > 0)
        return;
    m_free.push_back(block.value());
    std::push_heap(m_free.begin(), m_free.end(), std::greater<>());
}

void BlockPool::copySlots(BlockId from, BlockId to, std::uint32_t slots)
{
    assert(slots <= m_shape.blockTokens && references(to) == 1);
    for (const std::uint32_t number : m_group.layers) {
        const LayerIndex index(number);
        const KvLayerShape &layer = m_shape.layers[number];
        const std::uint64_t keyBytes = slots * kvRowBytes(m_shape.keyType, layer.keySize);
        const std::uint64_t valueBytes = slots * kvRowBytes(m_shape.valueType, layer.valueSize);
        for (std::uint32_t head = 0; head < layer.heads; ++head) {
            std::memcpy(keys(to, index, head), keys(from, index, head), keyBytes);
            std::memcpy(values(to, index, head), values(from, index, head), valueBytes);
        }
    }
}

void BlockPool::commit()
{
    const auto page = static_cast<std::uint64_t>(std::max(sysconf(_SC_PAGESIZE), 1L));
    for (std::uint64_t at = 0; at < m_bytes; at += page) {
        // A read alone would map the one page of zeros that all processes share.
        volatile std::byte *touched = m_memory + at;
        *touched = *touched;
    }
}

std::byte *BlockPool::keys(BlockId block, LayerIndex layer, std::uint32_t kvHead) const
{
    assert(block.value() < capacity() && layer.value() < m_shape.layers.size());
    assert(kvHead < m_shape.layers[layer.value()].heads);
    const LayerPlace &place = m_places[layer.value()];
    assert(place.keyHeadBytes > 0); // a layer of this group
    return m_keys +
           placeOf(block, *this, m_keyStride, place.keys + kvHead * place.keyHeadBytes, place.keyHeadBytes);
}

std::byte *BlockPool::values(BlockId block, LayerIndex layer, std::uint32_t kvHead) const
{
    assert(block.value() < capacity() && layer.value() < m_shape.layers.size());
    assert(kvHead < m_shape.layers[layer.value()].heads);
    const LayerPlace &place = m_places[layer.value()];
    assert(place.valueHeadBytes > 0);
    return m_values + placeOf(block, *this, m_valueStride, place.values + kvHead * place.valueHeadBytes,
                              place.valueHeadBytes);
}

} // namespace tokenloupe
