// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/estimatorresult.h"

#include <QTest>

namespace tokenloupe::test {

/// A model of eight thousand million parameters as its publisher describes it: 32 layers, 8 of 32 heads with
/// keys and values of their own, trained for 131 072 tokens.
inline constexpr const char *eightBillionConfig = R"({
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": false, "hidden_act": "silu"})";

inline Gpu card(const char *name, std::uint64_t gibibytes)
{
    Gpu gpu;
    gpu.name = name;
    gpu.maker = "Maker";
    gpu.kind = "desktop";
    gpu.memoryBytes = gibibytes << 30;
    gpu.bandwidth = 1e12;
    gpu.halfFlops = 1.5e14;
    gpu.year = 2024;
    return gpu;
}

/// A request for that model on a card of 24 GiB.
inline EstimateRequest eightBillionRequest()
{
    EstimateRequest request;
    Result<ModelShape> shape = shapeOfJson(eightBillionConfig, "Eight-8B");
    if (!shape)
        qFatal("%s", shape.error().text().c_str());
    request.shape = std::make_shared<const ModelShape>(std::move(*shape));
    request.weightType = "Q4_K_M";
    request.contextTokens = 8192;
    request.target = EstimateTarget::Gpu;
    request.devices = {card("Card 24", 24)};
    return request;
}

} // namespace tokenloupe::test
