// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/hfconfigreader.h"

#include "engine/base/utf8.h"
#include "engine/model/ggufconfigreader.h"
#include "engine/model/hf/hfactivation.h"

#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

// Far above any model, so that products of two of them stay inside 64 bits.
constexpr std::uint64_t maxWidth = 1U << 24;
constexpr std::uint64_t maxHeads = 1U << 16;
constexpr std::uint64_t maxU32 = std::numeric_limits<std::uint32_t>::max();

/// 0 means that there is no default.
std::optional<std::uint64_t> usual(std::uint64_t value)
{
    return value > 0 ? std::optional(value) : std::nullopt;
}

} // namespace

HfConfigReader::HfConfigReader(JsonFields &fields, const HfFamily &family)
    : m_fields(fields)
    , m_family(family)
{
    m_config.family = &family;
    m_config.model.spec = **architectureSpec(family.architecture); // rows of the table name known ones
    m_config.model.spec.rotary = RotaryStyle::HalfSplit;
    m_config.model.spec.normGainOffset = family.gainOffset;
}

HfConfig HfConfigReader::read(std::uint64_t tensors)
{
    refuseOthers();
    readSizes(tensors);
    if (!m_fields.ok())
        return m_config;
    readHeads();
    readNorms();
    readActivation();
    readBiases();
    readHead();
    readAttention();
    readAlibi();
    readRotation();
    readLayerPattern();
    readExperts();
    return m_config;
}

std::uint32_t HfConfigReader::number(FieldNames names, std::uint64_t lowest, std::uint64_t highest,
                                     std::optional<std::uint64_t> fallback)
{
    return static_cast<std::uint32_t>(m_fields.number(names, lowest, highest, fallback));
}

void HfConfigReader::mustBe(std::string_view field, bool value, const char *why)
{
    if (m_fields.flag({field}, value) != value)
        m_fields.fail(ErrorCode::Unsupported, field,
                      std::string("expected ") + (value ? "true" : "false") + ": " + why);
}

void HfConfigReader::refuseOthers()
{
    mustBe("is_encoder_decoder", false, "models with an encoder and a decoder are not run");
    mustBe("add_cross_attention", false, "cross-attention is not run");
    mustBe("use_bidirectional_attention", false, "tokens see only what comes before them here");
    if (m_fields.has({"quantization_config"}))
        m_fields.fail(ErrorCode::Unsupported, "quantization_config",
                      "quantised weights are read from GGUF files only; in a folder F32, F16 and BF16 are "
                      "expected");
    if (isFamily("gpt2"))
        mustBe("scale_attn_by_inverse_layer_idx", false, "scores divided by the layer's number are not run");
    if (isFamily("bloom"))
        mustBe("apply_residual_connection_post_layernorm", false, "residuals are taken before the norm here");
    if (isFamily("falcon"))
        mustBe("alibi", false, "of falcon models only those with rotation are run");
}

void HfConfigReader::readSizes(std::uint64_t tensors)
{
    ModelConfig &model = m_config.model;
    model.layers = number({"num_hidden_layers", "n_layer", "n_layers"}, 1, maxU32, m_family.layers);
    const std::uint64_t most = tensors > 0 ? tensors : maxLayersWithoutTensors;
    if (m_fields.ok() && model.layers > most)
        m_fields.fail(ErrorCode::BadFile, "num_hidden_layers",
                      "found " + std::to_string(model.layers) + " layers, but there are only " +
                          std::to_string(most) + " tensors");
    model.embedding = number({"hidden_size", "n_embd", "d_model", "n_embed"}, 1, maxWidth, m_family.width);
    model.vocabulary = number({"vocab_size"}, 1, maxU32 - 1, m_family.vocabulary);
    model.contextTrain = number({"max_position_embeddings", "n_positions", "max_seq_len", "seq_length"}, 1,
                                maxU32, m_family.context);
    const std::uint64_t inner =
        m_family.inner > 0 ? m_family.inner : std::min(4 * std::uint64_t{model.embedding}, maxWidth);
    // What these two may state as a ratio, the library that runs them does not look at.
    const bool isFixed = isFamily("bloom") || isFamily("mpt");
    model.feedForward = isFixed
                            ? static_cast<std::uint32_t>(inner)
                            : number({"intermediate_size", "n_inner", "ffn_hidden_size"}, 1, maxWidth, inner);
}

void HfConfigReader::readHeads()
{
    ModelConfig &model = m_config.model;
    model.heads = number({"num_attention_heads", "n_head", "n_heads"}, 1, maxHeads, m_family.heads);
    const std::uint32_t kvHeads = keyValueHeads();
    std::optional<std::uint64_t> share;
    if (m_family.headSize > 0 && !m_fields.isNull("head_dim"))
        share = m_family.headSize;
    else if (model.embedding % model.heads == 0)
        share = model.embedding / model.heads;
    else if (!m_fields.has({"head_dim"}))
        m_fields.fail(ErrorCode::BadFile, "num_attention_heads",
                      "expected a divisor of the width " + std::to_string(model.embedding) + ", found " +
                          std::to_string(model.heads));
    model.headSize = number({"head_dim"}, 1, maxHeads, share.value_or(1));
    model.valueHeadSize = model.headSize;
    if (m_fields.ok() && model.heads % kvHeads != 0)
        m_fields.fail(ErrorCode::BadFile, "num_key_value_heads",
                      "expected a divisor of the " + std::to_string(model.heads) + " heads, found " +
                          std::to_string(kvHeads));
    model.kvHeads.assign(model.layers, kvHeads);
}

std::uint32_t HfConfigReader::keyValueHeads()
{
    const std::uint32_t heads = m_config.model.heads;
    if (isFamily("falcon")) {
        // The number counts only for the newer layout of the family.
        if (!m_fields.flag({"new_decoder_architecture"}, false))
            return m_fields.flag({"multi_query"}, true) ? 1 : heads;
        return number({"num_kv_heads", "n_head_kv"}, 1, maxHeads, heads);
    }
    if (isFamily("gpt2") || isFamily("bloom") || isFamily("mpt"))
        return heads;
    const bool isNull = m_fields.isNull("num_key_value_heads");
    return number({"num_key_value_heads"}, 1, maxHeads,
                  usual(isNull ? 0 : m_family.keyValueHeads).value_or(heads));
}

void HfConfigReader::readNorms()
{
    m_config.model.normEpsilon = static_cast<float>(
        m_fields.real({"rms_norm_eps", "layer_norm_epsilon", "norm_epsilon"}, m_family.epsilon));
    if (m_fields.ok() && m_config.model.normEpsilon < 0.0F)
        m_fields.fail(ErrorCode::BadFile, "rms_norm_eps", "expected a number from 0");
    if (!isFamily("falcon"))
        return;
    const bool isParallel = m_fields.flag({"parallel_attn"}, true);
    if (!isParallel && !m_fields.flag({"new_decoder_architecture"}, false))
        m_config.model.spec.residual = ResidualKind::Sequential;
}

void HfConfigReader::readActivation()
{
    ArchitectureSpec &spec = m_config.model.spec;
    if (m_family.activationField.empty())
        return;
    const std::string_view field = m_family.activationField;
    const std::string name = m_fields.text({field}, hfActivationName(spec.activation));
    if (const auto activation = hfActivation(name, spec.activation))
        spec.activation = *activation;
    else
        m_fields.fail(ErrorCode::Unsupported, field,
                      "the activation " + quotedForMessage(name) + " is not one that this program runs" +
                          (spec.isGated() ? " in a gated feed-forward" : ""));
}

void HfConfigReader::readBiases()
{
    ArchitectureSpec &spec = m_config.model.spec;
    if (m_family.biasField.empty())
        return; // as the row says
    const bool ofAttention = m_fields.flag({m_family.biasField}, m_family.hasBiases);
    const bool ofFeedForward = !m_family.feedForwardBiasField.empty() &&
                               m_fields.flag({m_family.feedForwardBiasField}, m_family.hasBiases);
    if (ofAttention)
        spec.biases = ofFeedForward ? RequiredBiases::All : RequiredBiases::QueryKeyValue;
}

void HfConfigReader::readHead()
{
    if (m_fields.has({"tie_word_embeddings"}))
        m_config.head =
            m_fields.flag({"tie_word_embeddings"}, m_family.isTied) ? HfHead::Tied : HfHead::Separate;
    else
        m_config.head = m_family.isTied ? HfHead::Tied : HfHead::AsStored;
}

void HfConfigReader::readAttention()
{
    ModelConfig &model = m_config.model;
    if (isFamily("gemma2") || isFamily("gemma3_text")) {
        const double scalar = m_fields.positive({"query_pre_attn_scalar"}, 256.0);
        model.queryScale = static_cast<float>(1.0 / std::sqrt(scalar));
        const auto cap = [&](std::string_view field, float fallback) {
            return static_cast<float>(
                m_fields.positive({field}, m_fields.isNull(field) ? 0.0 : static_cast<double>(fallback)));
        };
        model.attentionSoftCap = cap("attn_logit_softcapping", model.spec.attentionSoftCap);
        model.logitSoftCap = cap("final_logit_softcapping", model.spec.logitSoftCap);
    }
    if (isFamily("gpt2") && !m_fields.flag({"scale_attn_weights"}, true))
        model.queryScale = 1.0F;
    if (model.spec.embeddingScale == EmbeddingScale::RootOfWidth)
        model.embeddingScale = std::sqrt(static_cast<float>(model.embedding));
}

void HfConfigReader::readAlibi()
{
    ModelConfig &model = m_config.model;
    model.alibiBias = model.spec.positions == PositionKind::Alibi ? model.spec.alibiBias : 0.0F;
    if (!isFamily("mpt"))
        return;
    static const nlohmann::json none = nlohmann::json::object();
    const nlohmann::json *object = m_fields.object("attn_config");
    JsonFields attention(object ? *object : none, m_fields.source(), "attn_config.");
    model.alibiBias = static_cast<float>(attention.positive({"alibi_bias_max"}, 8.0));
    model.queryScale = static_cast<float>(attention.positive({"softmax_scale"}, 0.0));
    model.queryKeyValueClamp = static_cast<float>(attention.positive({"clip_qkv"}, 0.0));
    if (!attention.flag({"alibi"}, true)) {
        model.alibiBias = 0.0F;
        model.spec.positions = PositionKind::Learned;
    }
    if (!attention.flag({"qk_ln"}, false))
        model.spec.headNorm = HeadNorm::None;
    if (attention.flag({"prefix_lm"}, false))
        attention.fail(ErrorCode::Unsupported, "prefix_lm", "tokens see only what comes before them here");
    const std::string type = attention.text({"attn_type"}, "multihead_attention");
    if (type != "multihead_attention")
        attention.fail(ErrorCode::Unsupported, "attn_type",
                       "expected \"multihead_attention\", found " + quotedForMessage(type));
    m_fields.take(attention);
}

std::vector<bool> HfConfigReader::localLayers(std::uint32_t window)
{
    const std::uint32_t layers = m_config.model.layers;
    std::vector<bool> local(layers, window > 0);
    const auto types = m_family.windows == HfWindows::None ? std::nullopt : m_fields.texts({"layer_types"});
    if (types) {
        if (types->size() != layers)
            m_fields.fail(ErrorCode::BadFile, "layer_types",
                          "expected one for each of the " + std::to_string(layers) + " layers, found " +
                              std::to_string(types->size()));
        for (std::uint32_t layer = 0; m_fields.ok() && layer < layers; ++layer) {
            const std::string &type = (*types)[layer];
            if (type != "sliding_attention" && type != "full_attention")
                m_fields.fail(ErrorCode::Unsupported, "layer_types",
                              "expected \"full_attention\" or \"sliding_attention\", found " +
                                  quotedForMessage(type));
            local[layer] = window > 0 && type == "sliding_attention";
        }
        return local;
    }
    std::uint32_t period = 0;
    std::uint32_t first = 0;
    if (m_family.windows == HfWindows::AllButNth)
        period =
            number({"sliding_window_pattern", "_sliding_window_pattern"}, 1, maxU32, m_family.windowPeriod);
    if (m_family.windows == HfWindows::Upper)
        first = number({"max_window_layers"}, 0, maxU32, 28);
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
        const bool isWide = layer < first || (period > 0 && (layer + 1) % period == 0) ||
                            (m_family.windows == HfWindows::Unrotated && m_config.model.rotates(layer));
        local[layer] = local[layer] && !isWide;
    }
    return local;
}

void HfConfigReader::readLayerPattern()
{
    ModelConfig &model = m_config.model;
    if (model.spec.unrotatedPeriod > 0) {
        const std::uint32_t period =
            number({"no_rope_layer_interval"}, 1, maxU32, model.spec.unrotatedPeriod);
        std::vector<std::uint64_t> turns(model.layers);
        for (std::uint32_t layer = 0; layer < model.layers; ++layer)
            turns[layer] = (layer + 1) % period != 0 ? 1 : 0;
        if (m_fields.has({"no_rope_layers"}))
            turns = m_fields.perLayer({"no_rope_layers"}, 0, 1, model.layers, 1);
        for (const std::uint64_t turn : turns)
            model.unrotated.push_back(turn == 0 ? 1 : 0);
    }
    const bool mustBeUsed = m_family.windows == HfWindows::Upper ||
                            m_family.windows == HfWindows::AllIfUsed ||
                            m_family.windows == HfWindows::Unrotated;
    const bool isOn =
        m_family.windows != HfWindows::None && (!mustBeUsed || m_fields.flag({"use_sliding_window"}, false));
    const std::uint32_t fallback = m_fields.isNull("sliding_window") ? 0 : m_family.window;
    const std::uint32_t window = isOn ? number({"sliding_window"}, 0, maxU32, fallback) : 0;
    const std::vector<bool> local = localLayers(window);
    const auto wide = static_cast<std::size_t>(std::count(local.begin(), local.end(), false));
    if (wide == local.size())
        return;
    model.slidingWindow = window;
    for (std::uint32_t layer = 0; wide > 0 && layer < model.layers; ++layer)
        model.windows.push_back(local[layer] ? window : 0);
}

void HfConfigReader::readExperts()
{
    if (m_family.experts == 0)
        return;
    ModelConfig &model = m_config.model;
    model.experts = number({"num_local_experts", "num_experts"}, 1, maxHeads, m_family.experts);
    model.expertsUsed = number({"num_experts_per_tok"}, 1, maxHeads, m_family.expertsUsed);
    if (m_fields.ok() && model.expertsUsed > model.experts)
        m_fields.fail(ErrorCode::BadFile, "num_experts_per_tok",
                      "expected at most the " + std::to_string(model.experts) + " experts, found " +
                          std::to_string(model.expertsUsed));
    model.expertFeedForward = m_family.expertInner > 0
                                  ? number({"moe_intermediate_size"}, 1, maxWidth, m_family.expertInner)
                                  : model.feedForward;
    if (!isFamily("qwen3_moe"))
        return;
    if (!m_fields.flag({"norm_topk_prob"}, false))
        model.spec.expertWeighting = ExpertWeighting::OfAll;
    const auto dense = m_fields.numbers({"mlp_only_layers"}, maxU32);
    if ((dense && !dense->empty()) || number({"decoder_sparse_step"}, 1, maxU32, 1) != 1)
        m_fields.fail(ErrorCode::Unsupported,
                      dense && !dense->empty() ? "mlp_only_layers" : "decoder_sparse_step",
                      "experts in some of the layers only are not run");
}

} // namespace tokenloupe
