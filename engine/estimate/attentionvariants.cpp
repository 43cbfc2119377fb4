// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/checkedmath.h"
#include "engine/estimate/costmodel.h"
#include "engine/estimate/estimate.h"
#include "engine/estimate/estimatewords.h"

#include <algorithm>

namespace tokenloupe {

namespace {

// Of the models that made latent attention known; for shapes that have none of their own.
constexpr std::uint32_t usualRank = 512;
constexpr std::uint32_t usualRopeSize = 64;

class Variants
{
public:
    Variants(const ModelShape &shape, KvType keyType, KvType valueType)
        : m_shape(shape)
        , m_keyType(keyType)
        , m_valueType(valueType)
        , m_keySize(shape.headSize)
        , m_valueSize(static_cast<std::uint32_t>(bufferShape(shape).valueHeadSize))
    {
        for (const KvLayerShape &layer : shape.kvLayers)
            m_layers += layer.heads > 0 ? 1 : 0;
    }

    std::vector<AttentionVariant> list()
    {
        const bool isLatent =
            std::any_of(m_shape.kvLayers.begin(), m_shape.kvLayers.end(),
                        [](const auto &layer) { return layer.heads > 0 && layer.valueSize == 0; });
        const std::uint32_t own = ownHeads();
        addHeads("multi-head", m_shape.heads, !isLatent && own == m_shape.heads);
        // Shapes without groups show the usual grouping of eight.
        const bool isGrouped = !isLatent && own > 1 && own < m_shape.heads;
        if (isGrouped)
            addOwn(own);
        else if (m_shape.heads > 1)
            addHeads("grouped-query", std::max<std::uint32_t>(1, m_shape.heads / 8), false);
        addHeads("multi-query", 1, !isLatent && own == 1 && m_shape.heads > 1);
        addLatent(isLatent);
        for (AttentionVariant &variant : m_list)
            variant.ratio = m_list.front().bytesPerToken > 0
                                ? static_cast<double>(variant.bytesPerToken) /
                                      static_cast<double>(m_list.front().bytesPerToken)
                                : 0.0;
        return std::move(m_list);
    }

private:
    /// KV heads of most layers that keep any.
    std::uint32_t ownHeads() const
    {
        std::uint32_t most = 0;
        for (const KvLayerShape &layer : m_shape.kvLayers)
            most = std::max(most, layer.heads);
        return most;
    }

    void addHeads(const char *name, std::uint32_t heads, bool isOwn)
    {
        const CheckedSize bytes = (CheckedSize(kvRowBytes(m_keyType, m_keySize)) +
                                   CheckedSize(kvRowBytes(m_valueType, m_valueSize))) *
                                  heads * m_layers;
        m_list.push_back({name, bytes.value(), 0.0, isOwn,
                          plural(m_layers, "layer") + " × " + plural(heads, "KV head") + " × (" +
                              countText(m_keySize) + " as " + std::string(kvTypeName(m_keyType)) + " + " +
                              countText(m_valueSize) + " as " + std::string(kvTypeName(m_valueType)) + ")"});
    }

    void addOwn(std::uint32_t heads)
    {
        KvShape kv;
        kv.layers = m_shape.kvLayers;
        kv.keyType = m_keyType;
        kv.valueType = m_valueType;
        addHeads("grouped-query", heads, true);
        m_list.back().bytesPerToken = kv.bytesPerToken(); // layers may differ
    }

    void addLatent(bool isOwn)
    {
        const std::uint32_t rank = m_shape.latentRank > 0 ? m_shape.latentRank : usualRank;
        const std::uint32_t rope = m_shape.latentRank > 0 ? m_shape.latentRopeSize : usualRopeSize;
        const CheckedSize bytes = CheckedSize(kvRowBytes(m_keyType, rank + rope)) * m_layers;
        m_list.push_back({"multi-head latent", bytes.value(), 0.0, isOwn,
                          plural(m_layers, "layer") + " × one vector of (" + countText(rank) + " + " +
                              countText(rope) + ") as " + std::string(kvTypeName(m_keyType))});
    }

    const ModelShape &m_shape;
    KvType m_keyType, m_valueType;
    std::uint32_t m_keySize, m_valueSize;
    std::uint64_t m_layers = 0;
    std::vector<AttentionVariant> m_list;
};

} // namespace

std::vector<AttentionVariant> attentionVariants(const ModelShape &shape, KvType keyType, KvType valueType)
{
    return Variants(shape, keyType, valueType).list();
}

} // namespace tokenloupe
