// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/transformer/forwardpass.h"

#include <algorithm>
#include <array>

namespace tokenloupe {

Status Transformer::State::turnFor(std::uint32_t contextTokens)
{
    const bool isKnown =
        rotaryContext > 0 && (rotaryContext == contextTokens || !rotaryDependsOnContext(model->config()));
    if (isKnown || model->config().ropeDimensions == 0)
        return {};
    Result<Rotary> whole = tokenloupe::rotary(*model, RotaryScope::Whole, contextTokens);
    if (!whole)
        return tl::unexpected(whole.error());
    rotary = std::move(*whole);
    if (model->config().localRopeBase > 0.0F) {
        Result<Rotary> local = tokenloupe::rotary(*model, RotaryScope::Local, contextTokens);
        if (!local)
            return tl::unexpected(local.error());
        localRotary = std::move(*local);
    }
    rotaryContext = contextTokens;
    return {};
}

Status reserveFloats(Backend &backend, std::unique_ptr<BackendBuffer> &buffer, std::uint64_t floats,
                     std::string_view what)
{
    const std::uint64_t bytes = floats * sizeof(float);
    if (buffer && buffer->bytes() >= bytes)
        return {};
    buffer.reset(); // first, so that both are never held at once
    Result<std::unique_ptr<BackendBuffer>> larger = backend.allocate(bytes, what);
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
    , m_spec(m_config.spec)
    , m_part(&state.parts.back())
    , m_firstPosition(firstPosition)
    , m_rows(static_cast<std::int64_t>(request.tokens.size()))
{}

Activations ForwardPass::matrix(std::uint64_t offset, std::uint64_t columns) const
{
    auto *memory = reinterpret_cast<float *>(m_part->activations->data());
    const auto width = static_cast<std::int64_t>(columns);
    return {memory + offset + static_cast<std::uint64_t>(m_firstRow) * columns, m_rows, width};
}

Activations ForwardPass::ownRows(std::uint64_t offset, std::int64_t rows, std::uint64_t columns) const
{
    auto *memory = reinterpret_cast<float *>(m_part->activations->data());
    return {memory + offset, rows, static_cast<std::int64_t>(columns)};
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

Status ForwardPass::tap(TapPoint point, LayerIndex layer, Activations values)
{
    if (!wants(point, layer))
        return {};
    const Result<std::span<const float>> host =
        backend().read(values.data, static_cast<std::size_t>(values.rows * values.columns));
    if (!host)
        return tl::unexpected(host.error());
    m_request.tap->take(point, layer, m_firstPosition, *host);
    return {};
}

std::int64_t ForwardPass::logitRows() const
{
    const bool wantsAll = m_request.rows == LogitRows::All || wants(TapPoint::Logits, {});
    return wantsAll ? static_cast<std::int64_t>(m_request.tokens.size()) : 1;
}

Result<std::span<const float>> ForwardPass::run()
{
    const std::uint64_t vocabulary = m_config.vocabulary;
    const auto rows = static_cast<std::uint64_t>(logitRows());
    // Here, so that a backend that remembers the operations finds their memory where it was.
    if (Status got = reserveFloats(backend(), m_state.logits, rows * vocabulary, "logits"); !got)
        return tl::unexpected(std::move(got.error()));
    const bool isDirect = !m_request.target.empty() && rows == 1 && backend().isInHostMemory();
    m_logits = isDirect ? m_request.target.data() : reinterpret_cast<float *>(m_state.logits->data());

    if (Status done = compute(); !done)
        return tl::unexpected(std::move(done.error()));
    const std::uint64_t wanted = m_request.rows == LogitRows::All ? rows : 1;
    const Result<std::span<const float>> logits =
        backend().read(m_logits + (rows - wanted) * vocabulary, wanted * vocabulary);
    if (!logits || isDirect || m_request.target.empty())
        return logits;
    std::copy(logits->begin(), logits->end(), m_request.target.begin());
    return m_request.target;
}

Status ForwardPass::compute()
{
    if (!isSplit())
        return runPart();
    Part &first = m_state.parts.front();
    Part &last = m_state.parts.back();
    return inOrder([&] { return embed(); }, [&] { return handOver(first); }, [&] { return runPart(); },
                   [&] { return handOver(last); }, [&] { return runPart(); });
}

Status ForwardPass::handOver(Part &next)
{
    const Activations from = matrix(m_state.layout.residual, m_config.embedding);
    const Result<std::span<const float>> rows =
        backend().read(from.data, static_cast<std::size_t>(from.rows * from.columns));
    if (!rows)
        return tl::unexpected(rows.error());
    m_part = &next;
    return backend().write(*rows, matrix(m_state.layout.residual, m_config.embedding).data);
}

Status ForwardPass::runPart()
{
    const PassRequest pass{m_request.tokens,
                           m_firstPosition,
                           isAtEnd() ? logitRows() : 0,
                           m_request.tap != nullptr,
                           &m_view,
                           m_part->activations->data(),
                           isAtEnd() ? m_logits : nullptr};
    for (PassEnd end = PassEnd::Again; end == PassEnd::Again;) {
        const Result<PassStart> start = backend().beginPass(pass);
        if (!start)
            return tl::unexpected(start.error());
        if (*start == PassStart::Replayed)
            return {};
        if (Status status = operations(); !status) {
            backend().abandonPass();
            return status;
        }
        const Result<PassEnd> ended = backend().endPass();
        if (!ended)
            return tl::unexpected(ended.error());
        end = *ended;
    }
    return {};
}

/// Of a part; the last one of a model that is split finds the tokens embedded.
Status ForwardPass::operations()
{
    m_firstRow = 0;
    m_rows = static_cast<std::int64_t>(m_request.tokens.size());
    Status status = isSplit() ? Status() : embed();
    for (std::uint32_t layer = m_part->firstLayer; status && layer < m_part->endLayer; ++layer) {
        if (m_request.stop.stop_requested())
            return makeError(ErrorCode::Cancelled, "forward pass",
                             "stopped before layer " + std::to_string(layer));
        status = runLayer(LayerIndex(layer));
    }
    return status && isAtEnd() ? head() : status;
}

Status ForwardPass::embed()
{
    const ModelWeights &weights = m_state.model->weights();
    const Activations residual = matrix(m_state.layout.residual, m_config.embedding);
    return inOrder([&] { return backend().embed(weights.tokenEmbedding, m_request.tokens, residual); },
                   [&] {
                       return m_config.embeddingScale == 1.0F
                                  ? Status()
                                  : backend().scale(residual, m_config.embeddingScale);
                   },
                   [&] {
                       return weights.positionEmbedding.isPresent()
                                  ? backend().addRows(weights.positionEmbedding, m_firstPosition, residual)
                                  : Status();
                   },
                   [&] { return norm(residual, weights.embeddingNorm, weights.embeddingNormBias, residual); },
                   [&] { return tap(TapPoint::Embedding, {}, residual); });
}

Status ForwardPass::norm(Activations values, const Weight &gain, const Weight &bias, Activations output)
{
    if (!gain.isPresent())
        return {};
    return backend().norm(values, {m_spec.norm, &gain, &bias, m_config.normEpsilon, m_spec.normGainOffset},
                          output);
}

Status ForwardPass::runLayer(LayerIndex layer)
{
    const LayerWeights &weights = m_state.model->weights().layers[layer.value()];
    return inOrder([&] { return attention(layer, weights); }, [&] { return feedForward(layer, weights); });
}

Status ForwardPass::head()
{
    const ModelWeights &weights = m_state.model->weights();
    const Activations normed = matrix(m_state.layout.work, m_config.embedding);
    Status status = inOrder(
        [&] {
            return norm(matrix(m_state.layout.residual, m_config.embedding), weights.outputNorm,
                        weights.outputNormBias, normed);
        },
        [&] { return tap(TapPoint::FinalNorm, {}, normed); });
    if (!status)
        return status;

    if (logitRows() < m_rows)
        followLastOnly();
    const Activations input = matrix(m_state.layout.work, m_config.embedding);
    const Activations logits{m_logits, m_rows, m_config.vocabulary};
    const std::array<Projection, 1> output = {Projection{&weights.outputHead, nullptr, logits}};
    return inOrder([&] { return backend().multiply(input, output); },
                   [&] {
                       return m_config.logitSoftCap > 0.0F ? backend().softCap(logits, m_config.logitSoftCap)
                                                           : Status();
                   },
                   [&] { return tap(TapPoint::Logits, {}, logits); });
}

} // namespace tokenloupe
