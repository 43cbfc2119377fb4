// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/textbook.h"

#include "engine/base/checkedmath.h"
#include "engine/estimate/estimatewords.h"

#include <algorithm>

namespace tokenloupe {

namespace {

std::uint64_t scaled(double bytes)
{
    return static_cast<std::uint64_t>(std::clamp(bytes, 0.0, static_cast<double>(CheckedSize::limit) / 2.0));
}

/// Shortcuts of the KV cache, all for the same cells: context · sequences.
class KvFormulas
{
public:
    KvFormulas(const CostModel &model, const Costs &costs, std::vector<TextbookFormula> &list)
        : m_shape(model.shape())
        , m_kv(model.kvShape())
        , m_buffers(model.buffers())
        , m_costs(costs)
        , m_list(list)
        , m_cells(CheckedSize(costs.context) * costs.batch)
    {}

    void add()
    {
        if (costsNothing())
            return;
        allHeads();
        latentExpanded();
        windowsIgnored();
        layerForgotten();
        halvesAlways();
    }

private:
    bool costsNothing() const { return m_costs.kv.bytes == 0; }
    bool isLatent() const { return m_shape.latentRank > 0; }
    std::string cells() const
    {
        return countText(m_costs.context) + " tokens" +
               (m_costs.batch > 1 ? " × " + plural(m_costs.batch, "sequence") : "");
    }
    std::uint64_t rowBytes(std::uint64_t numbers) const
    {
        return kvRowBytes(m_kv.keyType,
                          static_cast<std::uint32_t>(std::min<std::uint64_t>(numbers, UINT32_MAX)));
    }
    void push(std::string name, std::string formula, std::uint64_t says, std::string reason)
    {
        m_list.push_back({std::move(name), std::move(formula), says, m_costs.kv.bytes, std::move(reason)});
    }

    void allHeads()
    {
        if (isLatent())
            return;
        std::uint64_t kept = 0;
        std::uint64_t layers = 0;
        for (const KvLayerShape &layer : m_shape.kvLayers) {
            kept = std::max<std::uint64_t>(kept, layer.heads);
            layers += layer.heads > 0 ? 1 : 0;
        }
        const CheckedSize says =
            m_cells * m_shape.layers * m_shape.heads *
            (CheckedSize(rowBytes(m_buffers.headSize)) +
             CheckedSize(kvRowBytes(m_kv.valueType, static_cast<std::uint32_t>(m_buffers.valueHeadSize))));
        std::string reason = kept == m_shape.heads ? "every query head has keys and values of its own here"
                                                   : countText(m_shape.heads) + " query heads share " +
                                                         plural(kept, "KV head") + ": only those are stored";
        if (layers < m_shape.layers)
            reason += "; " + countText(m_shape.layers - layers) + " layers keep nothing of a token";
        push("all heads counted",
             "2 × " + countText(m_shape.layers) + " layers × " + countText(m_shape.heads) + " heads × " +
                 countText(m_shape.headSize) + " × bytes × " + cells(),
             says.value(), std::move(reason));
    }

    void latentExpanded()
    {
        if (!isLatent())
            return;
        const CheckedSize perHead =
            CheckedSize(rowBytes(m_buffers.headSize)) +
            CheckedSize(kvRowBytes(m_kv.valueType, static_cast<std::uint32_t>(m_buffers.valueHeadSize)));
        const bool isExpanded = std::any_of(m_shape.kvLayers.begin(), m_shape.kvLayers.end(),
                                            [](const KvLayerShape &layer) { return layer.valueSize > 0; });
        push("latent vector expanded into heads",
             countText(m_shape.layers) + " layers × " + countText(m_shape.heads) + " heads × (" +
                 countText(m_buffers.headSize) + " + " + countText(m_buffers.valueHeadSize) + ") × bytes × " +
                 cells(),
             (m_cells * m_shape.layers * m_shape.heads * perHead).value(),
             isExpanded
                 ? "this cache does hold the expanded heads"
                 : "one vector of " + countText(m_shape.latentRank) + " + " +
                       countText(m_shape.latentRopeSize) +
                       " numbers is stored for a token and layer; heads are made out of it when needed");
        const std::uint64_t width = m_shape.embedding;
        push("width of the model taken for the cache",
             "2 × " + countText(m_shape.layers) + " layers × " + countText(width) + " × bytes × " + cells(),
             (m_cells * 2 * m_shape.layers * rowBytes(width)).value(),
             "what is stored has nothing to do with the model's width");
    }

    void windowsIgnored()
    {
        std::uint64_t windows = 0;
        std::uint32_t size = 0;
        CheckedSize says;
        for (std::uint32_t layer = 0; layer < m_kv.layers.size(); ++layer) {
            says += m_cells * m_kv.bytesPerToken(layer);
            if (m_kv.layers[layer].window > 0 && m_kv.layers[layer].heads > 0) {
                ++windows;
                size = m_kv.layers[layer].window;
            }
        }
        if (windows == 0)
            return;
        std::string reason = plural(windows, "layer") + " of " + countText(m_shape.layers) + " see only " +
                             countText(size) + " positions and keep no more than that and a micro-batch";
        if (says.value() <= m_costs.kv.bytes)
            reason += "; the context is still inside of them";
        push("windows ignored", "Σ layers × bytes of a token × " + cells(), says.value(), std::move(reason));
    }

    void layerForgotten()
    {
        if (m_shape.layers < 2)
            return;
        const std::uint64_t last = m_costs.kv.layers.empty() ? 0 : m_costs.kv.layers.back().bytes;
        push("one layer forgotten",
             "counted from 0 to " + countText(m_shape.layers - 1) + ", read as " +
                 countText(m_shape.layers - 1) + " layers",
             m_costs.kv.bytes - last,
             last == 0 ? "the last layer keeps nothing, so nothing is missed here"
                       : "each layer has its own: " + sizeText(last) + " are missed");
    }

    void halvesAlways()
    {
        KvShape halves = m_kv;
        halves.keyType = KvType::F16;
        halves.valueType = KvType::F16;
        const std::uint64_t own = m_kv.bytesPerToken();
        const std::uint64_t half = halves.bytesPerToken();
        if (own == half || own == 0)
            return;
        push("two bytes a number", "as if keys and values were f16",
             scaled(static_cast<double>(m_costs.kv.bytes) * static_cast<double>(half) /
                    static_cast<double>(own)),
             "keys are " + std::string(kvTypeName(m_kv.keyType)) + " and values " +
                 std::string(kvTypeName(m_kv.valueType)) + ", block scales included");
    }

    const ModelShape &m_shape;
    const KvShape &m_kv;
    const BufferShape &m_buffers;
    const Costs &m_costs;
    std::vector<TextbookFormula> &m_list;
    CheckedSize m_cells;
};

void addTotals(const CostModel &model, const Costs &costs, std::vector<TextbookFormula> &list)
{
    const WeightPlan &weights = model.weights();
    const auto bytes = static_cast<double>(weights.bytes);
    const std::uint64_t rest = costs.total - std::min(costs.total, weights.bytes);
    const double parameters = static_cast<double>(model.shape().parameters());
    list.push_back(
        {"parameters × bits only",
         fixedText(parameters / 1e9, 3) + " G parameters × " + fixedText(weights.bitsPerWeight, 2) + " bits",
         scaled(parameters * weights.bitsPerWeight / 8.0), costs.total,
         "cache, activations and runtime are left out: " + sizeText(rest)});
    list.push_back({"weights × 1.2", sizeText(weights.bytes) + " × 1.2", scaled(bytes * 1.2), costs.total,
                    "the rest does not follow the weights: it is " +
                        fixedText(100.0 * static_cast<double>(rest) / std::max(1.0, bytes), 0) +
                        " % of them here and grows with context and batch"});
    const std::uint64_t flat = weights.bytes + costs.kv.bytes + std::uint64_t(1500000000);
    const std::uint64_t overhead = costs.total - std::min(costs.total, weights.bytes + costs.kv.bytes);
    list.push_back(
        {"1.5 GB for everything else",
         sizeText(weights.bytes) + " + " + sizeText(costs.kv.bytes) + " + 1.5 GB", flat, costs.total,
         "buffers follow micro-batch, context and vocabulary: they take " + sizeText(overhead) + " here"});
}

void addExperts(const CostModel &model, std::vector<TextbookFormula> &list)
{
    const ModelShape &shape = model.shape();
    if (shape.experts == 0 || shape.expertsUsed == 0)
        return;
    list.push_back({"only active experts counted",
                    fixedText(shape.activeParameters() / 1e9, 3) + " G active parameters × " +
                        fixedText(model.weights().bitsPerWeight, 2) + " bits",
                    scaled(shape.activeParameters() * model.weights().bitsPerWeight / 8.0),
                    model.weights().bytes,
                    countText(shape.expertsUsed) + " of " + countText(shape.experts) +
                        " experts compute a token, but the next one may choose others: all are stored"});
}

} // namespace

std::vector<TextbookFormula> textbookFormulas(const CostModel &model, const Costs &costs)
{
    std::vector<TextbookFormula> list;
    KvFormulas(model, costs, list).add();
    addExperts(model, list);
    addTotals(model, costs, list);
    return list;
}

} // namespace tokenloupe
