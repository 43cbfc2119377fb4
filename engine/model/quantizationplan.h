// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/model.h"
#include "engine/model/modelloadoptions.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// A matrix that will be held in another type than it is stored in.
struct MatrixConversion
{
    Weight stored;
    TensorType type = TensorType::F32;
    std::uint64_t bytes = 0; ///< as `type`
};

/// What becomes of the matrices of a model that is quantised at load. A matrix keeps its stored type where
/// that is no larger than the mixture's. Norms, biases, routers and position tables always do.
struct QuantizationPlan
{
    std::vector<MatrixConversion> matrices; ///< each once, a tied head too
    std::uint64_t storedBytes = 0;          ///< of them
    std::uint64_t bytes = 0;
    std::vector<std::string> warnings; ///< matrices that become something else than was asked for
};

QuantizationPlan planQuantization(const ModelConfig &config, const ModelWeights &weights,
                                  LoadQuantization quantization);

/// The same for a model that is loaded already, in whatever form: what loading it again would give.
QuantizationPlan planQuantization(const Model &model, LoadQuantization quantization);
/// Model::weightsBytes() of it then.
std::uint64_t weightsBytesAs(const Model &model, LoadQuantization quantization);

/// take(weight, role, layer) for each matrix that a quantiser may touch; `role` as tensors of GGUF files are
/// called. A tied head comes once, as the embedding.
template <class Weights, class Take>
void forEachMatrix(Weights &weights, const Take &take)
{
    take(weights.tokenEmbedding, std::string_view("token_embd"), 0U);
    if (weights.outputKind != OutputHead::Tied)
        take(weights.outputHead, std::string_view("output"), 0U);
    for (std::uint32_t index = 0; index < weights.layers.size(); ++index) {
        auto &layer = weights.layers[index];
        take(layer.query, std::string_view("attn_q"), index);
        take(layer.key, std::string_view("attn_k"), index);
        take(layer.value, std::string_view("attn_v"), index);
        take(layer.output, std::string_view("attn_output"), index);
        take(layer.gate, std::string_view("ffn_gate"), index);
        take(layer.up, std::string_view("ffn_up"), index);
        take(layer.down, std::string_view("ffn_down"), index);
        for (auto &expert : layer.experts) {
            take(expert.gate, std::string_view("ffn_gate_exps"), index);
            take(expert.up, std::string_view("ffn_up_exps"), index);
            take(expert.down, std::string_view("ffn_down_exps"), index);
        }
    }
}

} // namespace tokenloupe
