// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/transformer/forwardpass.h"

#include <array>

namespace tokenloupe {

Status ForwardPass::feedForward(LayerIndex layer, const LayerWeights &weights)
{
    const ActivationLayout &at = m_state.layout;
    const Activations residual = matrix(at.residual, m_config.embedding);
    const Activations work = matrix(at.work, m_config.embedding); // normalised, later what is added
    const bool isParallel = m_spec.residual == ResidualKind::Parallel;
    const Activations normed = isParallel ? matrix(at.parallel, m_config.embedding) : work;
    const Activations input = m_spec.normsInput() ? normed : residual;
    return inOrder(
        [&] {
            return isParallel ? Status() // attention() did it, from the residual before it
                              : norm(residual, weights.feedForwardNorm, weights.feedForwardNormBias, normed);
        },
        [&] { return m_spec.normsInput() ? tap(TapPoint::FeedForwardNorm, layer, normed) : Status(); },
        [&] {
            return weights.router.isPresent() ? experts(layer, weights, input, work)
                                              : dense(layer, weights, input, work);
        },
        [&] { return tap(TapPoint::FeedForwardOutput, layer, work); },
        [&] { return norm(work, weights.feedForwardPostNorm, weights.feedForwardPostNormBias, work); },
        [&] { return backend().add(work, residual); },
        [&] { return tap(TapPoint::LayerOutput, layer, residual); });
}

Status ForwardPass::dense(LayerIndex layer, const LayerWeights &weights, Activations input,
                          Activations output)
{
    const ActivationLayout &at = m_state.layout;
    const bool isGated = m_spec.isGated();
    const Activations up = matrix(at.up, m_config.feedForward);
    const Activations gate = isGated ? matrix(at.gate, m_config.feedForward) : up;
    const std::array<Projection, 2> both = {Projection{&weights.up, &weights.upBias, up},
                                            Projection{&weights.gate, &weights.gateBias, gate}};
    const std::array<Projection, 1> down = {Projection{&weights.down, &weights.downBias, output}};
    return inOrder([&] { return backend().multiply(input, std::span(both).first(isGated ? 2 : 1)); },
                   [&] { return isGated ? tap(TapPoint::Gate, layer, gate) : Status(); },
                   [&] { return tap(TapPoint::Up, layer, up); },
                   [&] { return backend().activate(m_spec.activation, gate, up, gate); },
                   [&] { return backend().multiply(gate, down); });
}

Status ForwardPass::experts(LayerIndex layer, const LayerWeights &weights, Activations input,
                            Activations output)
{
    const ActivationLayout &at = m_state.layout;
    const std::int64_t chosen = m_rows * m_config.expertsUsed;
    const Activations router = ownRows(at.router, m_rows, m_config.experts);
    const std::array<Projection, 1> route = {Projection{&weights.router, nullptr, router}};
    ExpertParams params;
    params.experts = weights.experts;
    params.used = m_config.expertsUsed;
    params.weighting = m_spec.expertWeighting;
    params.activation = m_spec.activation;
    params.rows = ownRows(at.expertRows, chosen, m_config.embedding);
    params.gate = ownRows(at.gate, chosen, m_config.expertFeedForward);
    params.up = ownRows(at.up, chosen, m_config.expertFeedForward);
    return inOrder([&] { return backend().multiply(input, route); },
                   [&] { return backend().experts(input, router, params, output); },
                   [&] { return tap(TapPoint::Router, layer, router); });
}

} // namespace tokenloupe
