// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/blockpool.h"

#include "engine/base/checkedmath.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>
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

/// Bytes of a number, by which rows are aligned; block types are read by less.
int widthOf(KvType type)
{
    switch (type) {
    case KvType::F32:
        return 4;
    case KvType::F16:
    case KvType::BF16:
        return 2;
    default:
        return 1;
    }
}

// Sequences mostly hold blocks with numbers that follow each other: one head's rows of so many tokens lie in
// one stretch, long enough for the processor to read it as one, short enough that a first token does not make
// the whole pool resident.
constexpr std::uint32_t neighbourTokens = 256;

/// Where a head's rows of one block lie in a plane, of which each block has `stride` bytes; `before` is how
/// many of these belong to other layers and heads. The heads of `neighbours` blocks lie side by side.
std::uint64_t placeOf(BlockId block, std::uint32_t capacity, std::uint64_t neighbours, std::uint64_t stride,
                      std::uint64_t before, std::uint64_t headBytes)
{
    const std::uint64_t first = block.value() / neighbours * neighbours;
    const std::uint64_t count = std::min(neighbours, capacity - first);
    return first * stride + before * count + (block.value() - first) * headBytes;
}

} // namespace

Result<BlockPool> BlockPool::create(const KvShape &shape, KvLayerGroup group, std::uint32_t blocks,
                                    const KvAllocator &allocate)
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
    Result<std::unique_ptr<KvMemory>> memory = allocate(bytes.value());
    if (!memory)
        return tl::unexpected(std::move(memory.error()));

    pool.m_memory = std::move(*memory);
    if (pool.isOnHost()) // a device reads each block's rows by its own address
        pool.m_neighbours = std::max(1U, neighbourTokens / shape.blockTokens);
    pool.m_keyStride = keys.value();
    pool.m_valueStride = values.value();
    // The one that is read by wider words comes first: whole blocks of it keep the other one aligned.
    const bool keysFirst = widthOf(shape.keyType) >= widthOf(shape.valueType);
    pool.m_keys = pool.m_memory->data() + (keysFirst ? 0 : pool.m_valueStride * blocks);
    pool.m_values = pool.m_memory->data() + (keysFirst ? pool.m_keyStride * blocks : 0);
    pool.m_shape = shape;
    pool.m_group = std::move(group);
    pool.m_references.resize(blocks);
    pool.m_free.resize(blocks);
    std::iota(pool.m_free.begin(), pool.m_free.end(), 0U); // sorted, so a heap already
    return pool;
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
    const std::byte *start = m_memory->data();
    const auto copy = [&](const std::byte *source, const std::byte *target, std::uint64_t bytes) {
        m_memory->copyWithin(static_cast<std::uint64_t>(source - start),
                             static_cast<std::uint64_t>(target - start), bytes);
    };
    if (!isOnHost()) {
        // Two long copies are less work for a device than many short ones; nobody reads the other slots.
        copy(m_keys + from.value() * m_keyStride, m_keys + to.value() * m_keyStride, m_keyStride);
        copy(m_values + from.value() * m_valueStride, m_values + to.value() * m_valueStride, m_valueStride);
        return;
    }
    for (const std::uint32_t number : m_group.layers) {
        const LayerIndex index(number);
        const KvLayerShape &layer = m_shape.layers[number];
        const std::uint64_t keyBytes = slots * kvRowBytes(m_shape.keyType, layer.keySize);
        const std::uint64_t valueBytes = slots * kvRowBytes(m_shape.valueType, layer.valueSize);
        for (std::uint32_t head = 0; head < layer.heads; ++head) {
            copy(keys(from, index, head), keys(to, index, head), keyBytes);
            copy(values(from, index, head), values(to, index, head), valueBytes);
        }
    }
}

void BlockPool::commit()
{
    m_memory->commit();
}

KvBlockPlaces BlockPool::places(LayerIndex layer) const
{
    assert(!isOnHost());
    const LayerPlace &place = m_places[layer.value()];
    return {m_keys + place.keys, m_values + place.values, m_keyStride,
            m_valueStride,       place.keyHeadBytes,      place.valueHeadBytes};
}

std::byte *BlockPool::keys(BlockId block, LayerIndex layer, std::uint32_t kvHead) const
{
    assert(isOnHost() && block.value() < capacity() && layer.value() < m_shape.layers.size());
    assert(kvHead < m_shape.layers[layer.value()].heads);
    const LayerPlace &place = m_places[layer.value()];
    assert(place.keyHeadBytes > 0); // a layer of this group
    return m_keys + placeOf(block, capacity(), m_neighbours, m_keyStride,
                            place.keys + kvHead * place.keyHeadBytes, place.keyHeadBytes);
}

std::byte *BlockPool::values(BlockId block, LayerIndex layer, std::uint32_t kvHead) const
{
    assert(isOnHost() && block.value() < capacity() && layer.value() < m_shape.layers.size());
    assert(kvHead < m_shape.layers[layer.value()].heads);
    const LayerPlace &place = m_places[layer.value()];
    assert(place.valueHeadBytes > 0);
    return m_values + placeOf(block, capacity(), m_neighbours, m_valueStride,
                              place.values + kvHead * place.valueHeadBytes, place.valueHeadBytes);
}

} // namespace tokenloupe
