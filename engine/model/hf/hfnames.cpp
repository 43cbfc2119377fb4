// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/hfnames.h"

#include <algorithm>

namespace tokenloupe {

namespace {

using R = WeightRole;

// Models of several parts have the text model one level down, at one of two places.
constexpr std::string_view llamaPrefixes[] = {"model.", "language_model.model.", "model.language_model.", ""};
constexpr std::string_view transformerPrefixes[] = {"transformer.", ""};

constexpr HfStem llamaStems[] = {
    {R::TokenEmbedding, "embed_tokens"},
    {R::OutputNorm, "norm"},
    {R::AttentionNorm, "input_layernorm"},
    {R::QueryKeyValue, "self_attn.qkv_proj"},
    {R::Query, "self_attn.q_proj"},
    {R::Key, "self_attn.k_proj"},
    {R::Value, "self_attn.v_proj"},
    {R::QueryNorm, "self_attn.q_norm"},
    {R::KeyNorm, "self_attn.k_norm"},
    {R::AttentionOutput, "self_attn.o_proj"},
    {R::FeedForwardNorm, "post_attention_layernorm"},
    {R::GateUp, "mlp.gate_up_proj"},
    {R::Gate, "mlp.gate_proj"},
    {R::Up, "mlp.up_proj"},
    {R::Down, "mlp.down_proj"},
    {R::Router, "mlp.gate"},
    {R::ExpertGate, "mlp.experts.{}.gate_proj"},
    {R::ExpertUp, "mlp.experts.{}.up_proj"},
    {R::ExpertDown, "mlp.experts.{}.down_proj"},
};

constexpr HfStem gpt2Stems[] = {
    {R::TokenEmbedding, "wte"},
    {R::PositionEmbedding, "wpe"},
    {R::OutputNorm, "ln_f"},
    {R::AttentionNorm, "ln_1"},
    {R::QueryKeyValue, "attn.c_attn", HfStorage::Transposed},
    {R::AttentionOutput, "attn.c_proj", HfStorage::Transposed},
    {R::FeedForwardNorm, "ln_2"},
    {R::Up, "mlp.c_fc", HfStorage::Transposed},
    {R::Down, "mlp.c_proj", HfStorage::Transposed},
};

constexpr HfStem bloomStems[] = {
    {R::TokenEmbedding, "word_embeddings"},
    {R::EmbeddingNorm, "word_embeddings_layernorm"},
    {R::OutputNorm, "ln_f"},
    {R::AttentionNorm, "input_layernorm"},
    {R::QueryKeyValue, "self_attention.query_key_value", HfStorage::GroupedRows},
    {R::AttentionOutput, "self_attention.dense"},
    {R::FeedForwardNorm, "post_attention_layernorm"},
    {R::Up, "mlp.dense_h_to_4h"},
    {R::Down, "mlp.dense_4h_to_h"},
};

constexpr HfStem mptStems[] = {
    {R::TokenEmbedding, "wte"},      {R::PositionEmbedding, "wpe"},
    {R::OutputNorm, "norm_f"},       {R::AttentionNorm, "norm_1"},
    {R::QueryKeyValue, "attn.Wqkv"}, {R::QueryNorm, "attn.q_ln"},
    {R::KeyNorm, "attn.k_ln"},       {R::AttentionOutput, "attn.out_proj"},
    {R::FeedForwardNorm, "norm_2"},  {R::Up, "ffn.up_proj"},
    {R::Down, "ffn.down_proj"},
};

} // namespace

const HfNaming hfLlamaNames = {llamaPrefixes, "layers.", llamaStems};
const HfNaming hfGpt2Names = {transformerPrefixes, "h.", gpt2Stems};
const HfNaming hfBloomNames = {transformerPrefixes, "h.", bloomStems};
const HfNaming hfMptNames = {transformerPrefixes, "blocks.", mptStems};

std::vector<HfStem> hfStemsOf(WeightRole role, std::span<const HfStem> own, const HfNaming &naming)
{
    std::vector<HfStem> stems;
    for (const std::span<const HfStem> table : {own, naming.stems}) {
        if (stems.empty())
            std::copy_if(table.begin(), table.end(), std::back_inserter(stems),
                         [role](const HfStem &stem) { return stem.role == role; });
    }
    return stems;
}

} // namespace tokenloupe
