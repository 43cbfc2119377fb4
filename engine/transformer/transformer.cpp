// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/transformer/transformer.h"

#include "engine/memory/memoryplan.h"
#include "engine/transformer/forwardpass.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <utility>

namespace tokenloupe {

namespace {

/// What the file holds must be something that the kernels multiply by; said here once, before the first
/// token.
Status checkTypes(const LayerWeights &layer, std::uint32_t index)
{
    std::vector<const Weight *> all = layer.all();
    for (const ExpertWeights &expert : layer.experts)
        all.insert(all.end(), {&expert.gate, &expert.up, &expert.down});
    for (const Weight *weight : all) {
        const TensorTypeTraits *traits = tensorTypeTraits(static_cast<std::uint32_t>(weight->type));
        if (weight->isPresent() && (!traits || !traits->computable))
            return makeError(ErrorCode::Unsupported, "layer " + std::to_string(index),
                             std::string("no kernel for weights of type ") +
                                 (traits ? traits->name : "unknown"));
    }
    return {};
}

Status checkModel(const Model &model, Progress *progress, const std::stop_token &stop)
{
    const std::vector<LayerWeights> &layers = model.weights().layers;
    if (progress)
        progress->start(layers.size());
    for (std::uint32_t index = 0; index < layers.size(); ++index) {
        if (stop.stop_requested())
            return makeError(ErrorCode::Cancelled, "prepare the model");
        if (Status good = checkTypes(layers[index], index); !good)
            return good;
        if (progress)
            progress->advance(1);
    }
    return {};
}

Status checkRequest(const ForwardRequest &request, const ModelConfig &config, std::uint32_t maxBatch)
{
    const auto wrong = [](std::string message) {
        return makeError(ErrorCode::InvalidArgument, "forward pass", std::move(message));
    };
    if (request.tokens.empty())
        return wrong("no tokens");
    if (request.tokens.size() > maxBatch)
        return wrong(std::to_string(request.tokens.size()) + " tokens in one call, at most " +
                     std::to_string(maxBatch));
    if (!request.target.empty() &&
        (request.rows != LogitRows::Last || request.target.size() != config.vocabulary))
        return wrong("memory for " + std::to_string(request.target.size()) + " logits, " +
                     (request.rows == LogitRows::Last ? std::to_string(config.vocabulary) + " come"
                                                      : "which is for one row only"));
    for (const TokenId token : request.tokens) {
        if (token.value() >= config.vocabulary)
            return wrong("token " + std::to_string(token.value()) + " is not in the vocabulary of " +
                         std::to_string(config.vocabulary));
    }
    return {};
}

/// Falling powers of 2, spread evenly over the heads; where their number is no power of 2, those beyond it
/// lie between the first.
std::vector<float> alibiSlopes(const ModelConfig &config)
{
    std::vector<float> slopes;
    if (config.alibiBias <= 0.0F)
        return slopes;
    const std::uint32_t even = std::bit_floor(config.heads);
    const auto bias = static_cast<double>(config.alibiBias);
    for (std::uint32_t head = 0; head < config.heads; ++head) {
        const double step =
            head < even ? bias * (head + 1.0) / even : bias * (2.0 * (head - even) + 1.0) / (2.0 * even);
        slopes.push_back(static_cast<float>(std::exp2(-step)));
    }
    return slopes;
}

Status checkPositions(const Weight &positions, std::uint32_t before, std::size_t tokens)
{
    if (!positions.isPresent() || before + tokens <= static_cast<std::uint64_t>(positions.rows))
        return {};
    return makeError(ErrorCode::ContextFull, "forward pass",
                     "the model has learned " + std::to_string(positions.rows) +
                         " positions, the sequence would have " + std::to_string(before + tokens));
}

Status checkCache(const KvShape &shape, const ModelConfig &config, std::uint32_t splitLayer)
{
    if (shape.layers != kvLayers(config))
        return makeError(ErrorCode::InvalidArgument, "forward pass",
                         "the KV cache has the shape of another model");
    if (shape.splitLayer != splitLayer)
        return makeError(ErrorCode::InvalidArgument, "forward pass",
                         "the KV cache is split before layer " + std::to_string(shape.splitLayer) +
                             ", the model before layer " + std::to_string(splitLayer));
    return {};
}

/// One part or two, with layers each.
Status checkParts(std::span<const TransformerPart> parts, std::uint32_t layers)
{
    const bool isGood = !parts.empty() && parts.size() <= 2 && parts.back().endLayer == layers &&
                        (parts.size() == 1 || (parts[0].endLayer > 0 && parts[0].endLayer < layers));
    return isGood
               ? Status()
               : makeError(ErrorCode::InvalidArgument, "forward pass",
                           "the parts are not those of a model with " + std::to_string(layers) + " layers");
}

} // namespace

Transformer::Transformer(std::unique_ptr<State> state)
    : m_state(std::move(state))
{}

Transformer::~Transformer() = default;

Result<std::unique_ptr<Transformer>> Transformer::create(std::shared_ptr<const Model> model,
                                                         std::shared_ptr<Backend> backend,
                                                         std::uint32_t maxBatch, Progress *progress,
                                                         std::stop_token stop)
{
    assert(model);
    const std::uint32_t layers = model->config().layers;
    return create(std::move(model), {{std::move(backend), layers}}, maxBatch, progress, std::move(stop));
}

Result<std::unique_ptr<Transformer>> Transformer::create(std::shared_ptr<const Model> model,
                                                         std::vector<TransformerPart> parts,
                                                         std::uint32_t maxBatch, Progress *progress,
                                                         std::stop_token stop)
{
    assert(model);
    if (Status good = checkParts(parts, model->config().layers); !good)
        return tl::unexpected(std::move(good.error()));
    if (Status good = checkModel(*model, progress, stop); !good)
        return tl::unexpected(std::move(good.error()));
    const Result<ActivationLayout> layout = activationLayout(model->config(), maxBatch);
    if (!layout)
        return tl::unexpected(layout.error());

    auto state = std::make_unique<State>();
    state->model = std::move(model);
    state->maxBatch = maxBatch;
    state->layout = *layout;
    state->slopes = alibiSlopes(state->model->config());
    if (Status good = state->turnFor(std::max(state->model->config().contextTrain, 1U)); !good)
        return tl::unexpected(std::move(good.error()));
    std::uint32_t firstLayer = 0;
    for (TransformerPart &part : parts) {
        assert(part.backend);
        state->parts.push_back({std::move(part.backend), firstLayer, part.endLayer, {}, {}});
        State::Part &own = state->parts.back();
        if (Status got = reserveFloats(*own.backend, own.activations, layout->total, "activations"); !got)
            return tl::unexpected(std::move(got.error()));
        firstLayer = part.endLayer;
    }
    if (Status got = reserveFloats(*state->parts.back().backend, state->logits,
                                   state->model->config().vocabulary, "logits");
        !got)
        return tl::unexpected(std::move(got.error()));
    return std::unique_ptr<Transformer>(new Transformer(std::move(state)));
}

Result<std::span<const float>> Transformer::forward(const ForwardRequest &request, KvCache &cache,
                                                    SequenceId sequence)
{
    const ModelConfig &config = m_state->model->config();
    if (Status good = checkRequest(request, config, m_state->maxBatch); !good)
        return tl::unexpected(std::move(good.error()));
    if (Status good = checkCache(cache.shape(), config, m_state->splitLayer()); !good)
        return tl::unexpected(std::move(good.error()));
    const std::uint32_t before = cache.tokens(sequence);
    if (Status good =
            checkPositions(m_state->model->weights().positionEmbedding, before, request.tokens.size());
        !good)
        return tl::unexpected(std::move(good.error()));
    if (Status room = cache.append(sequence, request.tokens); !room)
        return tl::unexpected(std::move(room.error()));
    const KvView view = cache.view(sequence);
    Result<std::span<const float>> logits = std::span<const float>();
    if (Status turned = m_state->turnFor(view.contextTokens()); turned)
        logits = ForwardPass(*m_state, request, view, before).run();
    else
        logits = tl::unexpected(turned.error());
    if (logits)
        cache.markWritten(sequence);
    else
        cache.truncate(sequence, before);
    return logits;
}

std::uint32_t Transformer::maxBatch() const
{
    return m_state->maxBatch;
}

KvShape Transformer::kvShape(KvType keys, KvType values) const
{
    KvShape shape;
    shape.layers = kvLayers(m_state->model->config());
    shape.keyType = keys;
    shape.valueType = values;
    shape.splitLayer = m_state->splitLayer();
    return shape;
}

std::vector<KvAllocator> Transformer::kvAllocators()
{
    std::vector<KvAllocator> allocators;
    for (State::Part &part : m_state->parts)
        allocators.push_back(part.backend->kvAllocator());
    return allocators;
}

std::uint64_t Transformer::scratchBytes() const
{
    std::uint64_t bytes = 0;
    for (const State::Part &part : m_state->parts)
        bytes += part.activations->bytes();
    return bytes;
}

const Model &Transformer::model() const
{
    return *m_state->model;
}

} // namespace tokenloupe
