// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/transformer/forwardpass.h"

#include <array>
#include <cmath>

namespace tokenloupe {

namespace {

/// Runs steps in order until one fails.
template <class... Steps>
Status inOrder(Steps &&...steps)
{
    Status status;
    (void)((status = steps(), status.has_value()) && ...);
    return status;
}

} // namespace

Status Transformer::State::reserve(std::unique_ptr<BackendBuffer> &buffer, std::uint64_t floats,
                                   std::string_view what)
{
    const std::uint64_t bytes = floats * sizeof(float);
    if (buffer && buffer->bytes() >= bytes)
        return {};
    buffer.reset(); // first, so that both are never held at once
    Result<std::unique_ptr<BackendBuffer>> larger = backend->allocate(bytes, what);
    if (!larger)
        return tl::unexpected(std::move(larger.error()));
    buffer = std::move(*larger);
    return {};
}

ForwardPass::ForwardPass(Transformer::State &state, const ForwardRequest &request, const KvView &view,
                         std::uint32_t firstPosition)
    : m_state(state)
    , m_request(request)
    , m_view(view)
    , m_config(state.model->config())
    , m_backend(*state.backend)
    , m_firstPosition(firstPosition)
    , m_rows(static_cast<std::int64_t>(request.tokens.size()))
{}

Activations ForwardPass::matrix(std::uint64_t offset, std::uint64_t columns) const
{
    auto *memory = reinterpret_cast<float *>(m_state.activations->data());
    const auto width = static_cast<std::int64_t>(columns);
    return {memory + offset + static_cast<std::uint64_t>(m_firstRow) * columns, m_rows, width};
}

void ForwardPass::followLastOnly()
{
    m_firstRow += m_rows - 1;
    m_rows = 1;
}

bool ForwardPass::wants(TapPoint point, LayerIndex layer) const
{
    return m_request.tap && m_request.tap->wants(point, layer);
}

Result<std::span<const float>> ForwardPass::onHost(Activations values, std::vector<float> &copy)
{
    if (Status done = m_backend.synchronize(); !done)
        return tl::unexpected(std::move(done.error()));
    const auto count = static_cast<std::size_t>(values.rows * values.columns);
    if (const float *view = m_backend.hostView(values.data))
        return std::span<const float>(view, count);
    copy.resize(count);
    if (Status done = m_backend.copyToHost(values.data, copy); !done)
        return tl::unexpected(std::move(done.error()));
    return std::span<const float>(copy);
}

Status ForwardPass::tap(TapPoint point, LayerIndex layer, Activations values)
{
    if (!wants(point, layer))
        return {};
    const Result<std::span<const float>> host = onHost(values, m_state.hostTap);
    if (!host)
        return tl::unexpected(host.error());
    m_request.tap->take(point, layer, m_firstPosition, *host);
    return {};
}

Result<std::span<const float>> ForwardPass::run()
{
    const Activations residual = matrix(m_state.layout.residual, m_config.embedding);
    Status status = inOrder(
        [&] { return m_backend.embed(m_state.model->weights().tokenEmbedding, m_request.tokens, residual); },
        [&] { return tap(TapPoint::Embedding, {}, residual); });
    for (std::uint32_t layer = 0; status && layer < m_config.layers; ++layer) {
        if (m_request.stop.stop_requested())
            return makeError(ErrorCode::Cancelled, "forward pass",
                             "stopped before layer " + std::to_string(layer));
        status = runLayer(LayerIndex(layer));
    }
    if (!status)
        return tl::unexpected(std::move(status.error()));
    return head();
}

Status ForwardPass::runLayer(LayerIndex layer)
{
    const LayerWeights &weights = m_state.model->weights().layers[layer.value()];
    return inOrder([&] { return attention(layer, weights); }, [&] { return feedForward(layer, weights); });
}

Status ForwardPass::project(LayerIndex layer, const LayerWeights &weights, Activations normed,
                            Activations query, Activations key, Activations value)
{
    const std::array<Projection, 3> projections = {Projection{&weights.query, &weights.queryBias, query},
                                                   Projection{&weights.key, &weights.keyBias, key},
                                                   Projection{&weights.value, &weights.valueBias, value}};
    const RopeParams rope = rotation();
    const bool storesRotated = m_view.keyPhase() == KeyPhase::Rotated;
    const auto store = [&] { return m_backend.storeKv(key, value, layer, m_firstPosition, m_view); };
    const auto nothing = [] { return Status(); };
    // Keys that are stored unrotated are rotated by who reads them; here only for someone who looks.
    const bool rotatesKey = storesRotated || wants(TapPoint::KeyRotated, layer);
    return inOrder([&] { return m_backend.multiply(normed, projections); },
                   [&] { return tap(TapPoint::Query, layer, query); },
                   [&] { return tap(TapPoint::Key, layer, key); },
                   [&] { return tap(TapPoint::Value, layer, value); },
                   [&] { return storesRotated ? nothing() : store(); },
                   [&] { return m_backend.rope(query, m_firstPosition, rope); },
                   [&] { return rotatesKey ? m_backend.rope(key, m_firstPosition, rope) : nothing(); },
                   [&] { return tap(TapPoint::QueryRotated, layer, query); },
                   [&] { return tap(TapPoint::KeyRotated, layer, key); },
                   [&] { return storesRotated ? store() : nothing(); });
}

RopeParams ForwardPass::rotation() const
{
    RopeParams rope;
    rope.style = m_state.model->architecture().rotary;
    rope.headSize = m_config.headSize;
    rope.rotated = m_config.ropeDimensions;
    rope.inverseFrequencies = m_state.inverseFrequencies;
    return rope;
}

Status ForwardPass::attend(LayerIndex layer, Activations query, Activations output)
{
    AttentionParams params;
    params.layer = layer;
    params.heads = m_config.heads;
    params.firstPosition = m_firstPosition + static_cast<std::uint32_t>(m_firstRow);
    params.scale = 1.0F / std::sqrt(static_cast<float>(m_config.headSize));
    if (const std::uint32_t window = m_config.windowOf(layer.value()); window > 0)
        params.window = window;
    if (m_view.keyPhase() == KeyPhase::Unrotated)
        params.keyRotation = rotation();
    if (!wants(TapPoint::AttentionWeights, layer))
        return m_backend.attend(query, m_view, params, output);

    const std::uint64_t columns =
        std::uint64_t(m_config.heads) * (params.firstPosition + static_cast<std::uint64_t>(m_rows));
    if (Status got = m_state.reserve(m_state.weights, columns * static_cast<std::uint64_t>(m_rows),
                                     "attention weights");
        !got)
        return got;
    params.weights = reinterpret_cast<float *>(m_state.weights->data());
    const Activations weights{params.weights, m_rows, static_cast<std::int64_t>(columns)};
    return inOrder([&] { return m_backend.attend(query, m_view, params, output); },
                   [&] { return tap(TapPoint::AttentionWeights, layer, weights); });
}

Status ForwardPass::attention(LayerIndex layer, const LayerWeights &weights)
{
    const ActivationLayout &at = m_state.layout;
    const std::uint64_t width = m_config.embedding;
    const std::uint64_t queryWidth = std::uint64_t(m_config.heads) * m_config.headSize;
    const std::uint64_t outputWidth = std::uint64_t(m_config.heads) * m_config.valueHeadSize;
    const std::uint64_t kvHeads = m_config.kvHeadsOf(layer.value());
    const Activations normed = matrix(at.work, width);
    Status status = inOrder(
        [&] {
            return m_backend.rmsNorm(matrix(at.residual, width), weights.attentionNorm, m_config.normEpsilon,
                                     normed);
        },
        [&] { return tap(TapPoint::AttentionNorm, layer, normed); },
        [&] {
            return project(layer, weights, normed, matrix(at.query, queryWidth),
                           matrix(at.key, kvHeads * m_config.headSize),
                           matrix(at.value, kvHeads * m_config.valueHeadSize));
        });
    if (!status)
        return status;

    // The last layer's keys and values are all in the cache now; only its last row leads to the logits.
    const bool isLast = layer.value() + 1 == m_config.layers;
    if (isLast && m_request.rows == LogitRows::Last && !m_request.tap)
        followLastOnly();

    const Activations residual = matrix(at.residual, width);
    const Activations attended = matrix(at.attention, outputWidth);
    const Activations projected = matrix(at.work, width);
    const std::array<Projection, 1> output = {Projection{&weights.output, &weights.outputBias, projected}};
    return inOrder([&] { return attend(layer, matrix(at.query, queryWidth), attended); },
                   [&] { return tap(TapPoint::AttentionOutput, layer, attended); },
                   [&] { return m_backend.multiply(attended, output); },
                   [&] { return m_backend.add(projected, residual); },
                   [&] { return tap(TapPoint::AttentionResidual, layer, residual); });
}

Status ForwardPass::feedForward(LayerIndex layer, const LayerWeights &weights)
{
    const ActivationLayout &at = m_state.layout;
    const Activations residual = matrix(at.residual, m_config.embedding);
    const Activations work = matrix(at.work, m_config.embedding); // normalised, later what is added
    const Activations gate = matrix(at.gate, m_config.feedForward);
    const Activations up = matrix(at.up, m_config.feedForward);
    const std::array<Projection, 2> gateAndUp = {Projection{&weights.gate, nullptr, gate},
                                                 Projection{&weights.up, nullptr, up}};
    const std::array<Projection, 1> down = {Projection{&weights.down, nullptr, work}};
    return inOrder(
        [&] { return m_backend.rmsNorm(residual, weights.feedForwardNorm, m_config.normEpsilon, work); },
        [&] { return tap(TapPoint::FeedForwardNorm, layer, work); },
        [&] { return m_backend.multiply(work, gateAndUp); }, [&] { return tap(TapPoint::Gate, layer, gate); },
        [&] { return tap(TapPoint::Up, layer, up); }, [&] { return m_backend.siluMultiply(gate, up, gate); },
        [&] { return m_backend.multiply(gate, down); },
        [&] { return tap(TapPoint::FeedForwardOutput, layer, work); },
        [&] { return m_backend.add(work, residual); },
        [&] { return tap(TapPoint::LayerOutput, layer, residual); });
}

Result<std::span<const float>> ForwardPass::head()
{
    const ModelWeights &weights = m_state.model->weights();
    const Activations normed = matrix(m_state.layout.work, m_config.embedding);
    Status status = inOrder(
        [&] {
            return m_backend.rmsNorm(matrix(m_state.layout.residual, m_config.embedding), weights.outputNorm,
                                     m_config.normEpsilon, normed);
        },
        [&] { return tap(TapPoint::FinalNorm, {}, normed); });
    if (!status)
        return tl::unexpected(std::move(status.error()));

    const bool wantsAll = m_request.rows == LogitRows::All || wants(TapPoint::Logits, {});
    if (!wantsAll)
        followLastOnly();
    const Activations input = matrix(m_state.layout.work, m_config.embedding);
    const std::uint64_t floats = static_cast<std::uint64_t>(m_rows) * m_config.vocabulary;
    if (Status got = m_state.reserve(m_state.logits, floats, "logits"); !got)
        return tl::unexpected(std::move(got.error()));
    Activations logits{reinterpret_cast<float *>(m_state.logits->data()), m_rows, m_config.vocabulary};
    const std::array<Projection, 1> output = {Projection{&weights.outputHead, nullptr, logits}};
    status = inOrder([&] { return m_backend.multiply(input, output); },
                     [&] { return tap(TapPoint::Logits, {}, logits); });
    if (!status)
        return tl::unexpected(std::move(status.error()));
    if (m_request.rows == LogitRows::Last) {
        logits.data += (logits.rows - 1) * logits.columns;
        logits.rows = 1;
    }
    return onHost(logits, m_state.hostLogits);
}

} // namespace tokenloupe
