// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/stepreads.h"

#include <algorithm>

namespace tokenloupe {

std::uint64_t weightBytesRead(const Model &model)
{
    const ModelWeights &weights = model.weights();
    std::uint64_t bytes = model.weightsBytes();
    const std::uint64_t table = weights.tokenEmbedding.data.size();
    if (weights.outputKind != OutputHead::Tied)
        bytes -= table - table / std::max<std::uint64_t>(1, model.config().vocabulary);
    for (const LayerWeights &layer : weights.layers) {
        std::uint64_t experts = 0;
        for (const ExpertWeights &expert : layer.experts)
            experts += expert.gate.data.size() + expert.up.data.size() + expert.down.data.size();
        if (experts > 0)
            bytes -= experts - experts / model.config().experts * model.config().expertsUsed;
    }
    return bytes;
}

std::uint64_t kvBytesRead(const KvShape &shape, std::uint64_t positions)
{
    std::uint64_t bytes = 0;
    for (std::uint32_t layer = 0; layer < shape.layers.size(); ++layer) {
        const std::uint64_t window = shape.layers[layer].window;
        bytes += shape.bytesPerToken(layer) * (window > 0 ? std::min(window, positions) : positions);
    }
    return bytes;
}

} // namespace tokenloupe
