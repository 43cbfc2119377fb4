// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/memory/activationlayout.h"
#include "engine/transformer/rotaryfrequencies.h"
#include "engine/transformer/transformer.h"

#include <memory>
#include <span>
#include <vector>

namespace tokenloupe {

/// What stays between the forward passes of one transformer.
struct Transformer::State
{
    /// Layers of the model, and what their backend has for them.
    struct Part
    {
        std::shared_ptr<Backend> backend;
        std::uint32_t firstLayer = 0;
        std::uint32_t endLayer = 0;
        std::unique_ptr<BackendBuffer> activations;
        std::unique_ptr<BackendBuffer> weights; ///< attention weights; only once somebody taps them
    };

    std::shared_ptr<const Model> model;
    std::vector<Part> parts; ///< the last has the model's ends
    std::uint32_t maxBatch = 0;
    Rotary rotary;                   ///< of layers that see everything
    Rotary localRotary;              ///< of layers with a window
    std::uint32_t rotaryContext = 0; ///< that both are for
    std::vector<float> slopes;       ///< ALiBi, one a head
    ActivationLayout layout;
    std::unique_ptr<BackendBuffer> logits; ///< of the last part; grows when all rows are asked for

    /// Rotations for a context of so many tokens.
    Status turnFor(std::uint32_t contextTokens);
    std::uint32_t splitLayer() const { return parts.size() > 1 ? parts.front().endLayer : 0; }
};

/// `buffer` with room for so many floats.
Status reserveFloats(Backend &backend, std::unique_ptr<BackendBuffer> &buffer, std::uint64_t floats,
                     std::string_view what);

/// Runs steps in order until one fails.
template <class... Steps>
Status inOrder(Steps &&...steps)
{
    Status status;
    (void)((status = steps(), status.has_value()) && ...);
    return status;
}

/// One pass of a batch through the layers. The cache has room for the batch already; what it holds for these
/// positions afterwards is only meaningful when run() succeeded.
class ForwardPass
{
public:
    ForwardPass(Transformer::State &state, const ForwardRequest &request, const KvView &view,
                std::uint32_t firstPosition);

    Result<std::span<const float>> run();

private:
    using Part = Transformer::State::Part;

    Backend &backend() const { return *m_part->backend; }
    bool isSplit() const { return m_state.parts.size() > 1; }
    bool isAtEnd() const { return m_part == &m_state.parts.back(); }
    /// From the tokens to the logits, through all parts.
    Status compute();
    /// The residual stream goes on in another part's memory.
    Status handOver(Part &next);
    /// What a part computes as one pass of its backend, replayed where that remembers it.
    Status runPart();
    Status operations();
    Status embed();
    Status runLayer(LayerIndex layer);
    /// One of the model's norms over rows of `values`; nothing where there is no gain.
    Status norm(Activations values, const Weight &gain, const Weight &bias, Activations output);

    // forwardattention.cpp
    Status attention(LayerIndex layer, const LayerWeights &weights);
    Status project(LayerIndex layer, const LayerWeights &weights, Activations input, Activations query,
                   Activations key, Activations value);
    Status normHeads(const LayerWeights &weights, Activations query, Activations key);
    Status attend(LayerIndex layer, Activations query, Activations output);
    Status addAttention(LayerIndex layer, const LayerWeights &weights, Activations attended);
    RopeParams rotation(LayerIndex layer) const;

    // forwardfeedforward.cpp
    Status feedForward(LayerIndex layer, const LayerWeights &weights);
    Status dense(LayerIndex layer, const LayerWeights &weights, Activations input, Activations output);
    Status experts(LayerIndex layer, const LayerWeights &weights, Activations input, Activations output);

    Status head();
    std::int64_t logitRows() const;

    /// Gives the values to the tap, if it wants them.
    Status tap(TapPoint point, LayerIndex layer, Activations values);
    bool wants(TapPoint point, LayerIndex layer) const;

    /// A matrix of the scratch with a row for each token that is still followed.
    Activations matrix(std::uint64_t offset, std::uint64_t columns) const;
    /// The same with rows of its own, for what nobody needs of earlier rows.
    Activations ownRows(std::uint64_t offset, std::int64_t rows, std::uint64_t columns) const;
    /// From here on only the last token matters.
    void followLastOnly();

    Transformer::State &m_state;
    const ForwardRequest &m_request;
    KvView m_view;
    const ModelConfig &m_config;
    const ArchitectureSpec &m_spec;
    Part *m_part;                  // whose operations come next
    std::uint32_t m_firstPosition; // of the batch
    float *m_logits = nullptr;     // (logitRows × vocabulary)
    std::int64_t m_firstRow = 0;   // of the batch's rows that are still followed
    std::int64_t m_rows = 0;
};

} // namespace tokenloupe
