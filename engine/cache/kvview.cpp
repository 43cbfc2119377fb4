// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvview.h"

#include "engine/cache/kvcache.h"

#include <algorithm>
#include <cassert>

namespace tokenloupe {

KvView::KvView(const KvCache &cache, SequenceId sequence)
    : m_cache(&cache)
    , m_sequence(&cache.sequence(sequence))
{}

const KvShape &KvView::shape() const
{
    return m_cache->shape();
}

KeyPhase KvView::keyPhase() const
{
    return m_cache->settings().keyPhase;
}

std::uint32_t KvView::tokens() const
{
    return static_cast<std::uint32_t>(m_sequence->tokens.size());
}

std::uint32_t KvView::contextTokens() const
{
    return m_cache->contextTokens();
}

std::uint32_t KvView::firstHeld(LayerIndex layer) const
{
    const std::vector<BlockId> &table = m_sequence->tables[m_cache->m_groupOf[layer.value()]];
    const auto held = std::find_if(table.begin(), table.end(), [](BlockId block) { return block.isValid(); });
    return static_cast<std::uint32_t>(held - table.begin()) * shape().blockTokens;
}

bool KvView::isOnHost(LayerIndex layer) const
{
    return m_cache->m_pools[tableOf(layer)].isOnHost();
}

std::uint32_t KvView::tableOf(LayerIndex layer) const
{
    return m_cache->m_groupOf[layer.value()];
}

std::uint32_t KvView::tables() const
{
    return static_cast<std::uint32_t>(m_sequence->tables.size());
}

std::span<const BlockId> KvView::blocks(std::uint32_t table) const
{
    return m_sequence->tables[table];
}

KvBlockPlaces KvView::places(LayerIndex layer) const
{
    return m_cache->m_pools[tableOf(layer)].places(layer);
}

KvRows KvView::keys(LayerIndex layer, std::uint32_t kvHead, std::uint32_t position) const
{
    const std::uint32_t group = m_cache->m_groupOf[layer.value()];
    const std::uint32_t blockTokens = shape().blockTokens;
    const BlockId block = m_sequence->tables[group][position / blockTokens];
    assert(position < tokens() && block.isValid());
    const std::uint32_t slot = position % blockTokens;
    const std::uint64_t rowBytes = kvRowBytes(shape().keyType, shape().layers[layer.value()].keySize);
    return {m_cache->m_pools[group].keys(block, layer, kvHead) + slot * rowBytes, blockTokens - slot};
}

KvRows KvView::values(LayerIndex layer, std::uint32_t kvHead, std::uint32_t position) const
{
    const std::uint32_t group = m_cache->m_groupOf[layer.value()];
    const std::uint32_t blockTokens = shape().blockTokens;
    const BlockId block = m_sequence->tables[group][position / blockTokens];
    assert(position < tokens() && block.isValid());
    const std::uint32_t slot = position % blockTokens;
    const std::uint64_t rowBytes = kvRowBytes(shape().valueType, shape().layers[layer.value()].valueSize);
    return {m_cache->m_pools[group].values(block, layer, kvHead) + slot * rowBytes, blockTokens - slot};
}

} // namespace tokenloupe
