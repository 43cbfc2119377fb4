// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/transformer/forwardpass.h"

#include <array>

namespace tokenloupe {

Status ForwardPass::attention(LayerIndex layer, const LayerWeights &weights)
{
    const ActivationLayout &at = m_state.layout;
    const std::uint64_t width = m_config.embedding;
    const std::uint64_t queryWidth = std::uint64_t(m_config.heads) * m_config.headSize;
    const std::uint64_t outputWidth = std::uint64_t(m_config.heads) * m_config.valueHeadSize;
    const std::uint64_t kvHeads = m_config.kvHeadsOf(layer.value());
    const Activations residual = matrix(at.residual, width);
    const Activations normed = matrix(at.work, width);
    Status status =
        inOrder([&] { return norm(residual, weights.attentionNorm, weights.attentionNormBias, normed); },
                [&] { return m_spec.normsInput() ? tap(TapPoint::AttentionNorm, layer, normed) : Status(); },
                [&] {
                    // The feed-forward beside attention reads what the residual is now.
                    return m_spec.residual == ResidualKind::Parallel
                               ? norm(residual, weights.feedForwardNorm, weights.feedForwardNormBias,
                                      matrix(at.parallel, width))
                               : Status();
                },
                [&] {
                    return project(layer, weights, m_spec.normsInput() ? normed : residual,
                                   matrix(at.query, queryWidth), matrix(at.key, kvHeads * m_config.headSize),
                                   matrix(at.value, kvHeads * m_config.valueHeadSize));
                });
    if (!status)
        return status;

    // The last layer's keys and values are all in the cache now; only its last row leads to the logits.
    const bool isLast = layer.value() + 1 == m_config.layers;
    if (isLast && m_request.rows == LogitRows::Last && !m_request.tap)
        followLastOnly();

    const Activations attended = matrix(at.attention, outputWidth);
    return inOrder([&] { return attend(layer, matrix(at.query, queryWidth), attended); },
                   [&] { return tap(TapPoint::AttentionOutput, layer, attended); },
                   [&] { return addAttention(layer, weights, attended); });
}

Status ForwardPass::addAttention(LayerIndex layer, const LayerWeights &weights, Activations attended)
{
    const Activations residual = matrix(m_state.layout.residual, m_config.embedding);
    const Activations projected = matrix(m_state.layout.work, m_config.embedding);
    const std::array<Projection, 1> output = {Projection{&weights.output, &weights.outputBias, projected}};
    return inOrder(
        [&] { return backend().multiply(attended, output); },
        [&] { return norm(projected, weights.attentionPostNorm, weights.attentionPostNormBias, projected); },
        [&] { return backend().add(projected, residual); },
        [&] { return tap(TapPoint::AttentionResidual, layer, residual); });
}

Status ForwardPass::project(LayerIndex layer, const LayerWeights &weights, Activations input,
                            Activations query, Activations key, Activations value)
{
    const std::array<Projection, 3> projections = {Projection{&weights.query, &weights.queryBias, query},
                                                   Projection{&weights.key, &weights.keyBias, key},
                                                   Projection{&weights.value, &weights.valueBias, value}};
    const RopeParams rope = rotation(layer);
    const bool rotates = m_config.rotates(layer.value());
    const bool storesRotated = m_view.keyPhase() == KeyPhase::Rotated;
    const auto store = [&] { return backend().storeKv(key, value, layer, m_firstPosition, m_view); };
    const auto nothing = [] { return Status(); };
    const auto rotate = [&](Activations heads) {
        return rotates ? backend().rope(heads, m_firstPosition, rope) : Status();
    };
    const auto clamp = [&](Activations values) {
        return m_config.queryKeyValueClamp > 0.0F ? backend().clamp(values, m_config.queryKeyValueClamp)
                                                  : Status();
    };
    // Keys that are stored unrotated are rotated by who reads them; here only for someone who looks.
    const bool rotatesKey = storesRotated || wants(TapPoint::KeyRotated, layer);
    return inOrder(
        [&] { return backend().multiply(input, projections); }, [&] { return clamp(query); },
        [&] { return clamp(key); }, [&] { return clamp(value); },
        [&] { return normHeads(weights, query, key); }, [&] { return tap(TapPoint::Query, layer, query); },
        [&] { return tap(TapPoint::Key, layer, key); }, [&] { return tap(TapPoint::Value, layer, value); },
        [&] { return storesRotated ? nothing() : store(); }, [&] { return rotate(query); },
        [&] { return rotatesKey ? rotate(key) : nothing(); },
        [&] { return tap(TapPoint::QueryRotated, layer, query); },
        [&] { return tap(TapPoint::KeyRotated, layer, key); },
        [&] { return storesRotated ? store() : nothing(); });
}

Status ForwardPass::normHeads(const LayerWeights &weights, Activations query, Activations key)
{
    // Heads lie behind each other, so each is a row as well.
    const auto rowsOfNorm = [&](Activations values) -> Activations {
        if (m_spec.headNorm == HeadNorm::WholeWidth)
            return values;
        const std::int64_t size = m_config.headSize;
        return {values.data, values.rows * values.columns / size, size};
    };
    const auto normInPlace = [&](Activations values, const Weight &gain, const Weight &bias) {
        return norm(rowsOfNorm(values), gain, bias, rowsOfNorm(values));
    };
    return inOrder([&] { return normInPlace(query, weights.queryNorm, weights.queryNormBias); },
                   [&] { return normInPlace(key, weights.keyNorm, weights.keyNormBias); });
}

RopeParams ForwardPass::rotation(LayerIndex layer) const
{
    const Rotary &rotary = m_config.rotatesLocally(layer.value()) ? m_state.localRotary : m_state.rotary;
    RopeParams rope;
    rope.style = m_spec.rotary;
    rope.headSize = m_config.headSize;
    if (!m_config.rotates(layer.value()))
        return rope;
    rope.rotated = m_config.ropeDimensions;
    rope.inverseFrequencies = rotary.inverseFrequencies;
    rope.magnitude = rotary.magnitude;
    return rope;
}

Status ForwardPass::attend(LayerIndex layer, Activations query, Activations output)
{
    AttentionParams params;
    params.layer = layer;
    params.heads = m_config.heads;
    params.firstPosition = m_firstPosition + static_cast<std::uint32_t>(m_firstRow);
    params.scale = m_config.attentionScale();
    params.softCap = m_config.attentionSoftCap;
    params.slopes = m_state.slopes;
    if (const std::uint32_t window = m_config.windowOf(layer.value()); window > 0)
        params.window = window;
    if (m_view.keyPhase() == KeyPhase::Unrotated)
        params.keyRotation = rotation(layer);
    if (!wants(TapPoint::AttentionWeights, layer))
        return backend().attend(query, m_view, params, output);

    const std::uint64_t columns =
        std::uint64_t(m_config.heads) * (params.firstPosition + static_cast<std::uint64_t>(m_rows));
    if (Status got = reserveFloats(backend(), m_part->weights, columns * static_cast<std::uint64_t>(m_rows),
                                   "attention weights");
        !got)
        return got;
    params.weights = reinterpret_cast<float *>(m_part->weights->data());
    const Activations weights{params.weights, m_rows, static_cast<std::int64_t>(columns)};
    return inOrder([&] { return backend().attend(query, m_view, params, output); },
                   [&] { return tap(TapPoint::AttentionWeights, layer, weights); });
}

} // namespace tokenloupe
