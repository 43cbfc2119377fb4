// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/estimate.h"

#include <memory>
#include <random>

namespace tokenloupe::test {

/// Seeded shapes and requests of every kind: grouped heads, windows, layers without keys, latent attention,
/// experts, tied and separate heads; one card, several, our own program.
class RandomShapes
{
public:
    explicit RandomShapes(std::uint64_t seed)
        : m_engine(seed)
    {}

    EstimateRequest request()
    {
        EstimateRequest request;
        request.shape = std::make_shared<ModelShape>(shape());
        request.weightType = chance(50) ? "F16" : "Q4_0";
        request.contextTokens = number(1, 20000);
        request.batch = chance(60) ? 1 : number(1, 40);
        request.microBatch = chance(50) ? 0 : number(1, 2048);
        const KvType types[] = {KvType::F32, KvType::F16, KvType::Q8_0, KvType::Q4_0};
        request.keyType = types[number(0, 3)];
        request.valueType = types[number(0, 3)];
        request.layout = chance(70) ? KvLayout::Paged : KvLayout::Contiguous;
        request.blockTokens = static_cast<std::uint32_t>(number(1, 64));
        request.attention = chance(60) ? AttentionKind::Flash : AttentionKind::ScoreMatrix;
        request.beams = chance(70) ? 1 : static_cast<std::uint32_t>(number(2, 5));
        if (chance(30))
            request.promptTokens = number(1, request.contextTokens);
        if (chance(20))
            request.draft = std::make_shared<ModelShape>(shape());
        request.draftWeightType = "F16";
        request.split = chance(60) ? SplitKind::Layers : SplitKind::Tensors;
        request.target = chance(20) ? EstimateTarget::ThisProgram : EstimateTarget::Gpu;
        const std::uint64_t cards = request.target == EstimateTarget::Gpu ? number(0, 4) : 0;
        for (std::uint64_t i = 0; i < cards; ++i) {
            Gpu gpu;
            gpu.name = "card " + std::to_string(i);
            gpu.memoryBytes = number(1, 24) << 29;
            gpu.bandwidth = 1e9 * static_cast<double>(number(50, 3000));
            gpu.halfFlops = 1e12 * static_cast<double>(number(5, 900));
            request.devices.push_back(gpu);
        }
        if (cards == 0)
            request.capacityBytes = number(1, 64) << 28;
        return request;
    }

    ModelShape shape()
    {
        ModelShape shape;
        shape.name = "random";
        shape.layers = static_cast<std::uint32_t>(number(1, 40));
        shape.heads = static_cast<std::uint32_t>(number(1, 8) * 4);
        shape.headSize = static_cast<std::uint32_t>(number(1, 4) * 32);
        shape.embedding = static_cast<std::uint32_t>(number(4, 64) * 32);
        shape.feedForward = static_cast<std::uint32_t>(number(4, 128) * 32);
        shape.vocabulary = static_cast<std::uint32_t>(number(500, 60000));
        shape.contextTrain = static_cast<std::uint32_t>(number(0, 1) * 1000000);
        const bool isLatent = chance(15);
        const auto window = static_cast<std::uint32_t>(chance(40) ? number(64, 4096) : 0);
        const auto kvHeads = static_cast<std::uint32_t>(chance(30) ? shape.heads : number(1, 4));
        const bool hasRecurrent = !isLatent && chance(20);
        if (isLatent) {
            shape.latentRank = 128;
            shape.latentRopeSize = 32;
        }
        for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
            KvLayerShape kept{kvHeads, shape.headSize, shape.headSize, layer % 3 == 2 ? 0 : window};
            if (isLatent)
                kept = {1, 160, 0, 0};
            if (hasRecurrent && layer % 4 == 1)
                kept = {};
            shape.kvLayers.push_back(kept);
        }
        if (hasRecurrent)
            shape.stateBytesPerSequence = number(1, 1 << 20);
        add(shape, TensorClass::Embedding, "token_embd", shape.vocabulary, shape.embedding, false);
        add(shape, TensorClass::Attention, "attn_q", shape.heads * shape.headSize, shape.embedding, true);
        add(shape, TensorClass::Attention, "attn_output", shape.embedding, shape.heads * shape.headSize,
            true);
        add(shape, TensorClass::Norms, "attn_norm", 1, shape.embedding, true);
        add(shape, TensorClass::Norms, "output_norm", 1, shape.embedding, false);
        if (chance(20)) {
            shape.experts = static_cast<std::uint32_t>(number(2, 16));
            shape.expertsUsed = static_cast<std::uint32_t>(number(1, shape.experts));
            add(shape, TensorClass::Experts, "ffn_down_exps", shape.embedding * shape.experts, 256, true);
            shape.tensors.back().activeShare = double(shape.expertsUsed) / shape.experts;
        } else {
            add(shape, TensorClass::FeedForward, "ffn_down", shape.embedding, shape.feedForward, true);
        }
        if (chance(50))
            add(shape, TensorClass::Output, "output", shape.vocabulary, shape.embedding, false);
        return shape;
    }

private:
    std::uint64_t number(std::uint64_t least, std::uint64_t most)
    {
        return std::uniform_int_distribution<std::uint64_t>(least, most)(m_engine);
    }
    bool chance(int percent) { return number(0, 99) < static_cast<std::uint64_t>(percent); }

    static void add(ModelShape &shape, TensorClass tensorClass, const char *role, std::uint64_t rows,
                    std::uint64_t columns, bool isInLayers)
    {
        ShapeTensor tensor;
        tensor.tensorClass = tensorClass;
        tensor.role = role;
        tensor.rows = rows;
        tensor.columns = columns;
        tensor.count = isInLayers ? shape.layers : 1;
        for (std::uint32_t layer = 0; isInLayers && layer < shape.layers; ++layer)
            tensor.layers.push_back(layer);
        shape.tensors.push_back(std::move(tensor));
    }

    std::mt19937_64 m_engine;
};

} // namespace tokenloupe::test
