// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/estimatekv.h"

#include "engine/base/checkedmath.h"
#include "engine/estimate/estimatewords.h"

#include <algorithm>

namespace tokenloupe {

namespace {

std::string kindName(const KvLayerShape &layer)
{
    if (layer.heads == 0)
        return "layers that keep no tokens";
    std::string name = layer.valueSize == 0 ? "latent" : "";
    if (layer.window == 0)
        return name.empty() ? "full attention" : name;
    return (name.empty() ? "" : name + ", ") + "window of " + countText(layer.window);
}

std::string layerWords(const KvLayerShape &layer, const KvShape &shape)
{
    std::string words = plural(layer.heads, "KV head") + " × (";
    words += countText(layer.keySize) + " as " + std::string(kvTypeName(shape.keyType));
    if (layer.valueSize > 0)
        words += " + " + countText(layer.valueSize) + " as " + std::string(kvTypeName(shape.valueType));
    return words + ")";
}

/// Runs of layers that are alike, by what they keep.
struct LayerKind
{
    KvLayerShape layer;
    std::uint64_t count = 0;
    std::uint64_t cells = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bytesPerToken = 0;
};

std::vector<LayerKind> kindsOf(const KvShape &shape, const KvPlan &plan)
{
    std::vector<LayerKind> kinds;
    for (std::uint32_t i = 0; i < shape.layers.size(); ++i) {
        auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const LayerKind &known) { return known.layer == shape.layers[i]; });
        if (kind == kinds.end())
            kind = kinds.insert(kinds.end(),
                                {shape.layers[i], 0, plan.layers[i].cells, 0, shape.bytesPerToken(i)});
        ++kind->count;
        kind->bytes += plan.layers[i].bytes;
    }
    return kinds;
}

} // namespace

KvShape kvShapeOf(const ModelShape &shape, const EstimateRequest &request)
{
    KvShape kv;
    kv.layers = shape.kvLayers;
    kv.keyType = request.keyType;
    kv.valueType = request.valueType;
    kv.blockTokens = request.blockTokens;
    return kv;
}

std::uint64_t ownBeamTokens(const EstimateRequest &request, std::uint64_t context)
{
    const std::uint64_t block = request.blockTokens;
    const std::uint64_t blocks = (context + block - 1) / block;
    const std::uint64_t shared =
        request.promptTokens > 0 ? std::min(request.promptTokens, context) / block : blocks / 2;
    return std::max<std::uint64_t>(1, blocks - shared) * block;
}

Result<KvPlan> planEstimateKv(const KvShape &shape, const EstimateRequest &request, std::uint64_t context,
                              std::uint64_t batch, std::uint64_t microBatch)
{
    KvPlanSettings room;
    room.contextTokens = context;
    room.sequences = batch;
    room.batchTokens = microBatch;
    room.layout = request.layout;
    if (request.beams > 1 && request.layout == KvLayout::Contiguous)
        room.sequences = (CheckedSize(batch) * request.beams).value();
    Result<KvPlan> plan = planKv(shape, room);
    if (!plan || request.beams <= 1 || request.layout == KvLayout::Contiguous)
        return plan;
    room.contextTokens = ownBeamTokens(request, context);
    room.sequences = (CheckedSize(batch) * (request.beams - 1)).value();
    const Result<KvPlan> extra = planKv(shape, room);
    if (!extra)
        return extra;
    CheckedSize sum;
    for (std::size_t i = 0; i < plan->layers.size(); ++i) {
        plan->layers[i].cells =
            (CheckedSize(plan->layers[i].cells) + CheckedSize(extra->layers[i].cells)).value();
        const CheckedSize bytes = CheckedSize(plan->layers[i].bytes) + CheckedSize(extra->layers[i].bytes);
        plan->layers[i].bytes = bytes.value();
        sum += bytes;
    }
    if (!sum.isValid())
        return makeError(ErrorCode::InvalidArgument, "beams",
                         "the keys and values of all hypotheses are more than can be counted");
    plan->bytes = sum.value();
    return plan;
}

std::string kvWords(const KvShape &shape, const KvPlan &plan, const EstimateRequest &request)
{
    std::string words;
    for (const LayerKind &kind : kindsOf(shape, plan)) {
        if (kind.layer.heads == 0)
            continue;
        words += (words.empty() ? "" : " + ") + plural(kind.count, "layer") + " (" + kindName(kind.layer) +
                 ") × " + countText(kind.cells) + " cells × " + layerWords(kind.layer, shape) + " = " +
                 countText(kind.bytesPerToken) + " bytes";
    }
    if (words.empty())
        return "no layer keeps keys and values";
    if (request.batch > 1)
        words += "; cells of " + plural(request.batch, "sequence");
    if (request.beams > 1)
        words +=
            "; " + countText(request.beams) + " hypotheses each, " +
            (request.layout == KvLayout::Paged
                 ? "sharing blocks: " + plural(ownBeamTokens(request, request.contextTokens), "own cell") +
                       " for each further one"
                 : "each with room of its own");
    return words;
}

std::vector<std::pair<std::string, std::uint64_t>> kvByKind(const KvShape &shape, const KvPlan &plan)
{
    std::vector<std::pair<std::string, std::uint64_t>> list;
    for (const LayerKind &kind : kindsOf(shape, plan)) {
        if (kind.layer.heads > 0)
            list.emplace_back(plural(kind.count, "layer") + ", " + kindName(kind.layer) + ", " +
                                  countText(kind.cells) + " cells",
                              kind.bytes);
    }
    return list;
}

} // namespace tokenloupe
