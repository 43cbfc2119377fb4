// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/estimateparts.h"

#include "engine/estimate/estimatekv.h"
#include "engine/estimate/estimatewords.h"

namespace tokenloupe {

namespace {

using Detail = std::vector<std::pair<std::string, std::uint64_t>>;

Detail weightDetail(const WeightPlan &plan)
{
    Detail detail;
    for (const WeightClassBytes &planned : plan.classes) {
        if (planned.bytes > 0)
            detail.emplace_back(std::string(tensorClassTitle(planned.tensorClass)), planned.bytes);
    }
    return detail;
}

std::string perCard(std::string words, std::uint64_t cards)
{
    if (cards > 1)
        words = plural(cards, "card") + " × (" + words + ")";
    return words;
}

EstimatePart weightPart(const CostModel &model)
{
    return {"weights", "Weights", model.weights().bytes, model.weights().how, weightDetail(model.weights())};
}

EstimatePart kvPart(const CostModel &model, const Costs &costs)
{
    EstimateRequest request = model.request();
    request.contextTokens = costs.context;
    request.batch = costs.batch;
    return {"kv_cache", "KV cache", costs.kv.bytes, kvWords(model.kvShape(), costs.kv, request),
            kvByKind(model.kvShape(), costs.kv)};
}

void addState(const CostModel &model, const Costs &costs, std::vector<EstimatePart> &parts)
{
    if (costs.state == 0)
        return;
    std::string how =
        countText(model.shape().stateBytesPerSequence) + " bytes × " + plural(costs.batch, "sequence");
    if (model.request().beams > 1)
        how += " × " + countText(model.request().beams) + " hypotheses";
    parts.push_back(
        {"recurrent_state", "Recurrent state", costs.state, how + "; does not grow with the context", {}});
}

void addDraft(const CostModel &model, const Costs &costs, std::vector<EstimatePart> &parts)
{
    if (!model.request().draft)
        return;
    EstimateRequest request = model.request();
    request.contextTokens = costs.context;
    request.batch = costs.batch;
    parts.push_back({"draft_weights", "Draft weights", model.draftWeights().bytes, model.draftWeights().how,
                     weightDetail(model.draftWeights())});
    parts.push_back({"draft_kv", "Draft KV cache", costs.draftKv.bytes,
                     kvWords(model.draftKvShape(), costs.draftKv, request),
                     kvByKind(model.draftKvShape(), costs.draftKv)});
    parts.push_back({"draft_buffers",
                     "Draft buffers",
                     costs.draftBuffers.activations() + costs.draftBuffers.logits(),
                     activationWords(model.draftBuffers(), costs.draftSettings, costs.draftBuffers) + "; " +
                         logitWords(model.draftBuffers(), costs.draftSettings, costs.draftBuffers),
                     {}});
}

std::vector<EstimatePart> programParts(const CostModel &model, const Costs &costs)
{
    std::vector<EstimatePart> parts;
    for (const MemoryItem &item : costs.plan.items) {
        EstimatePart part{std::string(memoryPartName(item.part)),
                          std::string(memoryPartTitle(item.part)),
                          item.bytes,
                          item.how,
                          {}};
        if (item.part == MemoryPart::Weights) {
            part.detail = weightDetail(model.weights());
            part.how = model.weights().how;
        } else if (item.part == MemoryPart::KvCache) {
            part = kvPart(model, costs);
        }
        parts.push_back(std::move(part));
    }
    return parts;
}

std::vector<EstimatePart> gpuParts(const CostModel &model, const Costs &costs)
{
    const std::uint64_t cards = model.cards();
    const bool isTensorSplit = model.request().split == SplitKind::Tensors;
    const BufferShape &shape = model.buffers();
    std::vector<EstimatePart> parts;
    parts.push_back(weightPart(model));
    parts.push_back(kvPart(model, costs));
    const GpuBuffers &buffers = costs.buffers;
    parts.push_back({"activations",
                     "Activations",
                     buffers.activations() * cards,
                     perCard(activationWords(shape, costs.bufferSettings, buffers), cards),
                     {{"attention of a layer", buffers.attention.value() * cards},
                      {"feed-forward part of a layer (same memory)", buffers.feedForward.value() * cards}}});
    const std::uint64_t heads = isTensorSplit ? cards : 1;
    parts.push_back({"logits",
                     "Logits",
                     buffers.logits() * heads,
                     perCard(logitWords(shape, costs.bufferSettings, buffers), heads),
                     {}});
    parts.push_back({"workspace",
                     "Workspace",
                     buffers.workspace.value() * cards,
                     perCard(workspaceWords(shape, costs.bufferSettings), cards),
                     {}});
    parts.push_back({"runtime",
                     "Runtime",
                     cardRuntimeBytes * cards,
                     perCard("assumed " + sizeText(cardRuntimeBytes) +
                                 " for the driver's context and kernels (200 to 500 MiB are seen)",
                             cards),
                     {}});
    if (costs.replicated > 0)
        parts.push_back({"replicated",
                         "Stored on several cards",
                         costs.replicated,
                         isTensorSplit
                             ? "norms, keys and values of fewer heads than cards, and what does not "
                               "divide, on each of " +
                                   plural(cards, "card")
                             : "the embedding is the output head too: the last card has a copy",
                         {}});
    return parts;
}

} // namespace

std::vector<EstimatePart> estimateParts(const CostModel &model, const Costs &costs)
{
    std::vector<EstimatePart> parts =
        model.request().target == EstimateTarget::Gpu ? gpuParts(model, costs) : programParts(model, costs);
    addState(model, costs, parts);
    addDraft(model, costs, parts);
    return parts;
}

} // namespace tokenloupe
