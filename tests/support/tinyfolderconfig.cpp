// SPDX-License-Identifier: GPL-3.0-or-later
// The configs of small models as Hugging Face folders have them.
#include "tests/support/tinyfolder.h"

#include <cmath>

namespace tokenloupe::test {

namespace {

using Model = TinyArchitecture;
using Json = nlohmann::ordered_json;

std::string typeOf(const Model &m)
{
    if (m.architecture == "qwen3moe")
        return "qwen3_moe";
    if (m.architecture == "gemma3")
        return "gemma3_text";
    if (m.architecture == "llama" && m.experts > 0)
        return "mixtral";
    if (m.architecture == "llama" && m.window > 0)
        return "mistral";
    return m.architecture;
}

Json scalingOf(const Model &m)
{
    switch (m.scaling) {
    case Model::Scaling::Linear:
        return {{"rope_type", "linear"}, {"factor", m.factor}};
    case Model::Scaling::Dynamic:
        return {{"rope_type", "dynamic"}, {"factor", m.factor}};
    case Model::Scaling::Yarn: {
        Json yarn{{"rope_type", "yarn"},
                  {"factor", m.factor},
                  {"original_max_position_embeddings", m.originalContext}};
        if (m.attentionFactor > 0.0) // the whole of it here, but without YaRN's own share in GGUF
            yarn["attention_factor"] = m.attentionFactor * (1.0 + 0.1 * std::log(m.factor));
        return yarn;
    }
    case Model::Scaling::Wavelength:
        return {{"rope_type", "llama3"},
                {"factor", m.factor},
                {"low_freq_factor", 1.0},
                {"high_freq_factor", 4.0},
                {"original_max_position_embeddings", m.originalContext}};
    case Model::Scaling::Long: {
        Json scaling{
            {"rope_type", "longrope"}, {"short_factor", m.shortFactors}, {"long_factor", m.longFactors}};
        if (m.attentionFactor > 0.0)
            scaling["attention_factor"] = m.attentionFactor;
        return scaling;
    }
    default:
        return nullptr;
    }
}

void addRotation(const Model &m, Spelling spelling, Json &config)
{
    if (m.places != Model::Places::Neighbours && m.places != Model::Places::Halves)
        return;
    Json scaling = scalingOf(m);
    const double share = static_cast<double>(m.rotated) / m.headSize;
    if (m.scaling == Model::Scaling::Long)
        config["original_max_position_embeddings"] = m.originalContext;
    if (spelling == Spelling::Version4) {
        if (!scaling.is_null() && m.scaling != Model::Scaling::Wavelength) {
            scaling["type"] = scaling["rope_type"];
            scaling.erase("rope_type");
        }
        config["rope_theta"] = m.base;
        config["rope_scaling"] = scaling;
        config["partial_rotary_factor"] = share;
        if (m.localBase > 0.0)
            config["rope_local_base_freq"] = m.localBase;
        return;
    }
    if (scaling.is_null())
        scaling = {{"rope_type", "default"}};
    scaling["rope_theta"] = m.base;
    scaling["partial_rotary_factor"] = share;
    if (m.localBase > 0.0)
        scaling = {{"full_attention", scaling},
                   {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", m.localBase}}}};
    config["rope_parameters"] = scaling;
}

void addWindows(const Model &m, Spelling spelling, Json &config)
{
    config["sliding_window"] = m.window > 0 ? Json(m.window) : Json();
    if (m.windowPeriod == 0)
        return;
    if (spelling == Spelling::Version4) {
        config["sliding_window_pattern"] = m.windowPeriod;
        return;
    }
    Json types = Json::array();
    for (std::uint32_t layer = 0; layer < m.layers; ++layer)
        types.push_back(m.windowOf(layer) > 0 ? "sliding_attention" : "full_attention");
    config["layer_types"] = types;
}

void addSizes(const Model &m, Json &config)
{
    const bool isGpt2 = m.architecture == "gpt2";
    const bool isMpt = m.architecture == "mpt";
    const bool isBloom = m.architecture == "bloom";
    config[isGpt2 ? "n_embd" : isMpt ? "d_model" : "hidden_size"] = m.width;
    config[isMpt ? "n_layers" : isGpt2 || isBloom ? "n_layer" : "num_hidden_layers"] = m.layers;
    config[isMpt ? "n_heads" : isGpt2 || isBloom ? "n_head" : "num_attention_heads"] = m.heads;
    config[isMpt ? "max_seq_len" : isGpt2 ? "n_positions" : "max_position_embeddings"] = m.context;
    config[isGpt2                       ? "n_inner"
           : m.architecture == "falcon" ? "ffn_hidden_size"
                                        : "intermediate_size"] = m.inner;
    config["head_dim"] = m.headSize;
    config["vocab_size"] = m.vocabulary;
    config[m.norm == Model::Norm::Rms       ? "rms_norm_eps"
           : m.architecture == "starcoder2" ? "norm_epsilon"
                                            : "layer_norm_epsilon"] = 1e-5;
    if (m.architecture == "falcon") {
        config["new_decoder_architecture"] = m.kvHeads > 1;
        config["num_kv_heads"] = m.kvHeads;
        config["multi_query"] = true;
        config["parallel_attn"] = true;
        config["bias"] = m.qkvBias;
    } else {
        config["num_key_value_heads"] = m.kvHeads;
    }
}

} // namespace

TinyArchitecture asFolderHasIt(TinyArchitecture model)
{
    if (model.architecture == "mpt" || model.architecture == "bloom")
        model.inner = 4 * model.width;
    return model;
}

bool hasFolderForm(const TinyArchitecture &model)
{
    return model.scaling != Model::Scaling::Ntk && model.scaling != Model::Scaling::Factors;
}

Json tinyFolderConfig(const TinyArchitecture &m, Spelling spelling)
{
    Json config{{"model_type", typeOf(m)}, {"tie_word_embeddings", !m.ownHead}};
    addSizes(m, config);
    addRotation(m, spelling, config);
    addWindows(m, spelling, config);
    if (m.experts > 0) {
        config[spelling == Spelling::Version4 && typeOf(m) == "qwen3_moe" ? "num_experts"
                                                                          : "num_local_experts"] = m.experts;
        config["num_experts_per_tok"] = m.expertsUsed;
        config["moe_intermediate_size"] = m.expertInner;
        config["norm_topk_prob"] = true;
    }
    if (m.architecture == "llama" || m.architecture == "qwen3") {
        config["attention_bias"] = m.qkvBias;
        config["mlp_bias"] = m.otherBias;
    }
    if (m.architecture == "gemma2" || m.architecture == "gemma3") {
        config["query_pre_attn_scalar"] = m.headSize;
        config["attn_logit_softcapping"] = m.scoreCap > 0.0 ? Json(m.scoreCap) : Json();
        config["final_logit_softcapping"] = m.logitCap > 0.0 ? Json(m.logitCap) : Json();
    }
    if (m.unrotatedPeriod > 0 && spelling == Spelling::Version4)
        config["no_rope_layer_interval"] = m.unrotatedPeriod;
    if (m.unrotatedPeriod > 0 && spelling == Spelling::Version5) {
        for (std::uint32_t layer = 0; layer < m.layers; ++layer)
            config["no_rope_layers"].push_back((layer + 1) % m.unrotatedPeriod == 0 ? 0 : 1);
    }
    if (m.architecture == "mpt") {
        config["attn_config"] = {{"alibi", true},
                                 {"alibi_bias_max", m.slopeBias},
                                 {"clip_qkv", m.clamp > 0.0 ? Json(m.clamp) : Json()},
                                 {"qk_ln", m.headNorm != Model::HeadNorm::None}};
    }
    return config;
}

} // namespace tokenloupe::test
