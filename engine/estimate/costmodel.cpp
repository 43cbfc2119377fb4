// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/costmodel.h"

#include "engine/base/checkedmath.h"
#include "engine/cache/hostmemory.h"
#include "engine/estimate/cardsplit.h"
#include "engine/estimate/estimatekv.h"
#include "engine/estimate/requestcheck.h"

#include <algorithm>
#include <numeric>

namespace tokenloupe {

namespace {

constexpr std::uint64_t gpuMicroBatch = 512;
constexpr std::uint64_t programMicroBatch = 256; ///< SessionSettings' own

Status sumOf(std::uint64_t &total, std::initializer_list<std::uint64_t> parts, const char *setting)
{
    CheckedSize sum(total);
    for (const std::uint64_t part : parts)
        sum += CheckedSize(part);
    total = sum.value();
    if (sum.isValid())
        return {};
    return makeError(ErrorCode::InvalidArgument, setting, "the sum is more than can be counted");
}

/// Planning errors are about the context in people's eyes: that is the number that grew too large.
tl::unexpected<Error> tooMuch(const Costs &costs, const Error &error)
{
    return makeError(ErrorCode::InvalidArgument, "context",
                     std::to_string(costs.context) + " tokens, batch " + std::to_string(costs.batch) + ": " +
                         error.message);
}

} // namespace

CostModel::CostModel(EstimateRequest request)
    : m_request(std::move(request))
{}

Result<CostModel> CostModel::create(const EstimateRequest &request)
{
    if (Status good = checkEstimateRequest(request); !good)
        return tl::unexpected(good.error());
    CostModel model(request);
    auto weights = planWeights(*request.shape, request.weightType);
    if (!weights)
        return tl::unexpected(weights.error());
    model.m_weights = std::move(*weights);
    model.m_places = weightPlaces(*request.shape, model.m_weights);
    for (const WeightClassBytes &planned : model.m_weights.classes) {
        if (planned.tensorClass == TensorClass::Norms)
            model.m_normBytes += planned.bytes;
    }
    model.m_kv = kvShapeOf(*request.shape, request);
    model.m_buffers = bufferShape(*request.shape);
    if (request.target == EstimateTarget::ThisProgram)
        model.m_config = request.config ? *request.config : configOf(*request.shape);
    if (request.draft) {
        auto draft = planWeights(*request.draft, request.draftWeightType);
        if (!draft)
            return makeError(draft.error().code, "draft", draft.error().message);
        model.m_draftWeights = std::move(*draft);
        model.m_draftKv = kvShapeOf(*request.draft, request);
        model.m_draftBuffers = bufferShape(*request.draft);
    }
    model.setCapacity();
    return model;
}

void CostModel::setCapacity()
{
    std::uint64_t sum = 0;
    for (const Gpu &gpu : m_request.devices) {
        m_cardMemory.push_back(gpu.memoryBytes);
        sum += gpu.memoryBytes;
    }
    m_capacity = m_request.capacityBytes > 0 ? m_request.capacityBytes : sum;
    if (m_capacity == 0)
        m_capacity = hostMemoryBytes(); // our own program, and nothing else was said
    if (m_request.capacityBytes > 0) {
        for (std::uint64_t &memory : m_cardMemory)
            memory = proportion(m_capacity, memory, sum);
    }
    if (m_cardMemory.empty())
        m_cardMemory.push_back(m_capacity);
}

Result<Costs> CostModel::at(std::uint64_t context, std::uint64_t batch) const
{
    Costs costs;
    costs.context = context;
    costs.batch = batch;
    const bool isGpu = m_request.target == EstimateTarget::Gpu;
    const std::uint64_t own = isGpu ? gpuMicroBatch : programMicroBatch;
    costs.microBatch = std::min(m_request.microBatch > 0 ? m_request.microBatch : own,
                                (CheckedSize(context) * batch).value());
    auto kv = planEstimateKv(m_kv, m_request, context, batch, costs.microBatch);
    if (!kv)
        return tooMuch(costs, kv.error());
    costs.kv = std::move(*kv);
    const CheckedSize state = CheckedSize(shape().stateBytesPerSequence) * batch * m_request.beams;
    costs.state = state.value();
    Status done = isGpu ? addGpu(costs) : addThisProgram(costs);
    if (done && !state.isValid())
        done = makeError(ErrorCode::InvalidArgument, "batch", "the states are more than can be counted");
    if (!done)
        return tooMuch(costs, done.error());
    return costs;
}

Status CostModel::addThisProgram(Costs &costs) const
{
    RunMemorySettings settings;
    settings.contextTokens = costs.context;
    settings.sequences = costs.batch;
    settings.batchTokens = static_cast<std::uint32_t>(costs.microBatch);
    settings.keyType = m_request.keyType;
    settings.valueType = m_request.valueType;
    settings.blockTokens = m_request.blockTokens;
    settings.layout = m_request.layout;
    settings.traceBudgetBytes = m_request.traceBytes;
    settings.threads = m_request.threads;
    settings.vocabulary =
        m_request.vocabulary.tokens > 0 ? m_request.vocabulary : typicalVocabulary(shape().vocabulary);
    settings.programBytes = m_request.programBytes;
    auto plan = planMemory(m_config, m_weights.bytes, settings);
    if (!plan)
        return tl::unexpected(plan.error());
    costs.plan = std::move(*plan);
    // Latent shapes and beams, which a session does not have: the cache is counted from the shape itself.
    for (MemoryItem &item : costs.plan.items) {
        if (item.part == MemoryPart::KvCache && item.bytes != costs.kv.bytes) {
            item.bytes = costs.kv.bytes;
            item.how.clear();
        }
    }
    CheckedSize sum;
    for (const MemoryItem &item : costs.plan.items)
        sum += CheckedSize(item.bytes);
    costs.total = sum.value();
    if (!sum.isValid())
        return makeError(ErrorCode::InvalidArgument, "context", "the sum is more than can be counted");
    Status added = sumOf(costs.total, {costs.state}, "batch");
    if (added && m_request.draft) {
        added = addDraft(costs);
        if (added)
            added = sumOf(costs.total,
                          {m_draftWeights.bytes, costs.draftKv.bytes, costs.draftBuffers.activations(),
                           costs.draftBuffers.logits()},
                          "draft");
    }
    return added;
}

Status CostModel::addDraft(Costs &costs) const
{
    auto kv = planEstimateKv(m_draftKv, m_request, costs.context, costs.batch, costs.microBatch);
    if (!kv)
        return makeError(ErrorCode::InvalidArgument, "draft", kv.error().message);
    costs.draftKv = std::move(*kv);
    costs.draftSettings = {costs.context,
                           costs.batch,
                           costs.microBatch,
                           m_request.attention,
                           m_request.keyType,
                           m_request.valueType,
                           1};
    costs.draftBuffers = gpuBuffers(m_draftBuffers, costs.draftSettings);
    if (!costs.draftBuffers.isValid())
        return makeError(ErrorCode::InvalidArgument, "draft", "its buffers are more than can be counted");
    return {};
}

Status CostModel::addGpu(Costs &costs) const
{
    const bool isSplitInTensors = m_request.split == SplitKind::Tensors;
    costs.bufferSettings = {costs.context,
                            costs.batch,
                            costs.microBatch,
                            m_request.attention,
                            m_request.keyType,
                            m_request.valueType,
                            isSplitInTensors ? cards() : 1};
    costs.buffers = gpuBuffers(m_buffers, costs.bufferSettings);
    if (!costs.buffers.isValid())
        return makeError(ErrorCode::InvalidArgument, "context", "the buffers are more than can be counted");
    if (m_request.draft) {
        if (Status added = addDraft(costs); !added)
            return added;
    }
    return isSplitInTensors ? splitTensors(costs) : splitLayers(costs);
}

Status CostModel::splitLayers(Costs &costs) const
{
    const std::size_t count = cards();
    Status good;
    for (std::size_t card = 0; good && card < count; ++card) {
        std::uint64_t bytes = 0;
        good = sumOf(bytes, {costs.buffers.activations(), costs.buffers.workspace.value(), cardRuntimeBytes},
                     "context");
        if (good && card == 0) {
            good = sumOf(bytes, {m_places.embedding}, "weights");
            if (good && m_request.draft)
                good = sumOf(bytes,
                             {m_draftWeights.bytes, costs.draftKv.bytes, costs.draftBuffers.activations(),
                              costs.draftBuffers.logits()},
                             "draft");
        }
        if (good && card + 1 == count) {
            // A head that is the embedding itself is stored on both ends.
            costs.replicated = count > 1 && m_places.isTied ? m_places.embedding : 0;
            good = sumOf(bytes, {m_places.output, costs.replicated, costs.buffers.logits()}, "batch");
        }
        costs.fixed.push_back(bytes);
        if (good)
            good = sumOf(costs.total, {bytes}, "context");
    }
    std::uint64_t givenState = 0;
    for (std::uint32_t layer = 0; good && layer < shape().layers; ++layer) {
        const std::uint64_t upTo = proportion(costs.state, layer + 1, shape().layers);
        std::uint64_t bytes = 0;
        good = sumOf(bytes, {m_places.layers[layer], costs.kv.layers[layer].bytes, upTo - givenState},
                     "context");
        givenState = upTo;
        costs.layers.push_back(bytes);
        if (good)
            good = sumOf(costs.total, {bytes}, "context");
    }
    return good;
}

std::uint64_t CostModel::cardKv(const Costs &costs) const
{
    CheckedSize sum;
    for (std::size_t layer = 0; layer < costs.kv.layers.size(); ++layer) {
        const std::uint64_t heads = shape().kvLayers[layer].heads;
        if (heads == 0)
            continue;
        // Fewer heads than cards: each card keeps a copy of one.
        const std::uint64_t mine = (heads + cards() - 1) / cards();
        sum += CheckedSize(costs.kv.layers[layer].bytes / heads) * mine;
    }
    return sum.value();
}

Status CostModel::splitTensors(Costs &costs) const
{
    const std::uint64_t count = cards();
    const std::uint64_t weights = (m_weights.bytes - m_normBytes + count - 1) / count + m_normBytes;
    const std::uint64_t kv = cardKv(costs);
    const std::uint64_t state = (costs.state + count - 1) / count;
    std::uint64_t bytes = 0;
    Status good = sumOf(bytes,
                        {weights, kv, state, costs.buffers.activations(), costs.buffers.logits(),
                         costs.buffers.workspace.value(), cardRuntimeBytes},
                        "context");
    for (std::uint64_t card = 0; good && card < count; ++card) {
        std::uint64_t mine = bytes;
        if (card == 0 && m_request.draft)
            good = sumOf(mine,
                         {m_draftWeights.bytes, costs.draftKv.bytes, costs.draftBuffers.activations(),
                          costs.draftBuffers.logits()},
                         "draft");
        costs.fixed.push_back(mine);
        if (good)
            good = sumOf(costs.total, {mine}, "context");
    }
    costs.replicated = count * (weights + kv + state) - m_weights.bytes - costs.kv.bytes - costs.state;
    return good;
}

bool CostModel::fits(const Costs &costs) const
{
    if (m_request.target == EstimateTarget::ThisProgram)
        return costs.total <= m_capacity;
    return placeLayers(costs.fixed, costs.layers, m_cardMemory).has_value();
}

} // namespace tokenloupe
