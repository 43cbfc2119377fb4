// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/memory/activationlayout.h"
#include "engine/transformer/transformer.h"

#include <memory>
#include <span>
#include <vector>

namespace tokenloupe {

/// What stays between the forward passes of one transformer.
struct Transformer::State
{
    std::shared_ptr<const Model> model;
    std::shared_ptr<Backend> backend;
    std::uint32_t maxBatch = 0;
    std::vector<float> inverseFrequencies;
    ActivationLayout layout;
    std::unique_ptr<BackendBuffer> activations;
    std::unique_ptr<BackendBuffer> logits;  ///< grows when all rows are asked for
    std::unique_ptr<BackendBuffer> weights; ///< attention weights; only once somebody taps them
    std::vector<float> hostLogits;          ///< for backends whose memory the host cannot read
    std::vector<float> hostTap;

    /// `buffer` with room for so many floats.
    Status reserve(std::unique_ptr<BackendBuffer> &buffer, std::uint64_t floats, std::string_view what);
};

/// One pass of a batch through the layers. The cache has room for the batch already; what it holds for these
/// positions afterwards is only meaningful when run() succeeded.
class ForwardPass
{
public:
    ForwardPass(Transformer::State &state, const ForwardRequest &request, const KvView &view,
                std::uint32_t firstPosition);

    Result<std::span<const float>> run();

private:
    Status runLayer(LayerIndex layer);
    Status attention(LayerIndex layer, const LayerWeights &weights);
    Status project(LayerIndex layer, const LayerWeights &weights, Activations normed, Activations query,
                   Activations key, Activations value);
    Status attend(LayerIndex layer, Activations query, Activations output);
    RopeParams rotation() const;
    Status feedForward(LayerIndex layer, const LayerWeights &weights);
    Result<std::span<const float>> head();

    /// Gives the values to the tap, if it wants them.
    Status tap(TapPoint point, LayerIndex layer, Activations values);
    bool wants(TapPoint point, LayerIndex layer) const;
    Result<std::span<const float>> onHost(Activations values, std::vector<float> &copy);

    /// A matrix of the scratch with a row for each token that is still followed.
    Activations matrix(std::uint64_t offset, std::uint64_t columns) const;
    /// From here on only the last token matters.
    void followLastOnly();

    Transformer::State &m_state;
    const ForwardRequest &m_request;
    KvView m_view;
    const ModelConfig &m_config;
    Backend &m_backend;
    std::uint32_t m_firstPosition; // of the batch
    std::int64_t m_firstRow = 0;   // of the batch's rows that are still followed
    std::int64_t m_rows = 0;
};

} // namespace tokenloupe
