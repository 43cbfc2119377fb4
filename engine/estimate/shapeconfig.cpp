// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"
#include "engine/estimate/shapefamily.h"
#include "engine/estimate/shapehybrid.h"
#include "engine/estimate/shapeplain.h"
#include "engine/estimate/shapewindows.h"

#include <algorithm>
#include <memory>

namespace tokenloupe {

using nlohmann::json;

namespace {

/// Reads one config of a known family. Errors stay in the fields.
class ConfigReader
{
public:
    ConfigReader(JsonFields &fields, const ConfigFamily &family)
        : m_fields(fields)
        , m_family(family)
    {}

    ShapeSpec read();

private:
    void readSizes();
    void readHeads();
    void readFalcon(LayerSpec &layer);
    std::uint64_t keyValueHeads();
    std::uint64_t feedForward();
    AttentionSpec attention();
    std::shared_ptr<const LatentSpec> latent();
    ExpertsSpec experts();
    bool isSparse(std::uint64_t layer, const std::vector<std::uint64_t> &denseLayers);
    void placeExperts();
    void addNotes();
    bool isOn(std::string_view field, bool fallback)
    {
        return field.empty() ? fallback : m_fields.flag({field}, fallback);
    }
    bool isFamily(std::string_view type) const { return m_family.type == type; }

    JsonFields &m_fields;
    const ConfigFamily &m_family;
    ShapeSpec m_spec;
    std::uint64_t m_layers = 0;
};

void ConfigReader::readSizes()
{
    m_layers = m_fields.number({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, 1, maxShapeLayers);
    m_spec.embedding = m_fields.number({"hidden_size", "n_embd", "d_model", "n_embed"}, 1, maxShapeWidth);
    const auto vocabulary = isFamily("gemma3_text") ? std::optional<std::uint64_t>(262208) : std::nullopt;
    m_spec.vocabulary = m_fields.number({"vocab_size", "padded_vocab_size"}, 1, maxShapeRows, vocabulary);
    m_spec.embeddingRows = m_spec.vocabulary;
    m_spec.context = m_fields.number({"max_position_embeddings", "n_positions", "n_ctx", "max_seq_len",
                                      "max_sequence_length", "seq_length"},
                                     1, maxShapeRows, std::uint64_t{0});
    if (m_family.positions)
        m_spec.positions =
            m_fields.number({"n_positions", "max_position_embeddings", "n_ctx"}, 1, maxShapeRows);
    m_spec.tied = m_fields.flag({"tie_word_embeddings"}, m_family.tied);
    m_spec.headBias = m_fields.flag({"lm_head_bias"}, m_family.headBias);
    m_spec.embeddingNorm = m_family.embeddingNorm;
    m_spec.norm = m_family.norm;
}

void ConfigReader::readHeads()
{
    const auto heads = isFamily("gemma3_text") ? std::optional<std::uint64_t>(8) : std::nullopt;
    m_spec.heads = m_fields.number({"num_attention_heads", "n_head", "n_heads"}, 1, maxShapeHeads, heads);
    std::optional<std::uint64_t> share;
    if (m_family.headSize > 0)
        share = m_family.headSize;
    else if (m_spec.embedding % m_spec.heads == 0)
        share = m_spec.embedding / m_spec.heads;
    else if (!m_fields.has({"head_dim"}) && !m_family.latent)
        m_fields.fail(ErrorCode::InvalidArgument, "num_attention_heads",
                      "expected a divisor of the width " + std::to_string(m_spec.embedding) + ", found " +
                          std::to_string(m_spec.heads));
    m_spec.headSize = m_fields.number({"head_dim"}, 1, maxShapeWidth, share.value_or(1));
}

std::uint64_t ConfigReader::keyValueHeads()
{
    if (isFamily("mpt"))
        return m_spec.heads;
    const std::uint64_t usual = m_family.keyValueHeads > 0 ? m_family.keyValueHeads : m_spec.heads;
    if (isFamily("falcon")) {
        // The number counts only for the newer layout of the family.
        if (!m_fields.flag({"new_decoder_architecture"}, false))
            return m_fields.flag({"multi_query"}, true) ? 1 : m_spec.heads;
    } else if (isFamily("gpt_bigcode")) {
        return m_fields.flag({"multi_query"}, true) ? 1 : m_spec.heads;
    }
    return m_fields.number({"num_key_value_heads", "num_kv_heads", "n_head_kv"}, 1, m_spec.heads, usual);
}

std::uint64_t ConfigReader::feedForward()
{
    std::optional<std::uint64_t> usual;
    if (m_family.mlp == MlpKind::Plain)
        usual = 4 * m_spec.embedding;
    if (isFamily("mpt") || isFamily("bloom"))
        return *usual; // whatever ratio the config may state
    return m_fields.number({"intermediate_size", "n_inner", "ffn_hidden_size", "block_ff_dim"}, 1,
                           4 * maxShapeWidth, usual);
}

std::shared_ptr<const LatentSpec> ConfigReader::latent()
{
    LatentSpec latent;
    latent.rank = m_fields.number({"kv_lora_rank"}, 1, maxShapeWidth, std::uint64_t{512});
    const auto queryRank = m_fields.isNull("q_lora_rank") ? std::uint64_t{0} : std::uint64_t{1536};
    latent.queryRank = m_fields.number({"q_lora_rank"}, 0, maxShapeWidth, queryRank);
    latent.nopeSize = m_fields.number({"qk_nope_head_dim"}, 1, maxShapeHeads, std::uint64_t{128});
    latent.ropeSize = m_fields.number({"qk_rope_head_dim"}, 1, maxShapeHeads, std::uint64_t{64});
    latent.valueSize = m_fields.number({"v_head_dim"}, 1, maxShapeHeads, std::uint64_t{128});
    m_spec.headSize = latent.nopeSize + latent.ropeSize;
    return std::make_shared<const LatentSpec>(latent);
}

AttentionSpec ConfigReader::attention()
{
    AttentionSpec attention;
    attention.heads = m_spec.heads;
    attention.kvHeads = keyValueHeads();
    if (m_family.latent)
        attention.latent = latent();
    else if (m_spec.heads % attention.kvHeads != 0)
        m_fields.fail(ErrorCode::InvalidArgument, "num_key_value_heads",
                      "expected a divisor of the " + std::to_string(m_spec.heads) + " heads, found " +
                          std::to_string(attention.kvHeads));
    attention.keySize = m_spec.headSize;
    attention.valueSize = m_spec.headSize;
    attention.fused = m_family.fused;
    attention.queryGate = m_family.queryGate;
    attention.queryKeyValueBias = isOn(m_family.attentionBiasField, m_family.attentionBias);
    attention.outputBias = attention.queryKeyValueBias && m_family.outputBias;
    attention.sinks = m_family.sinks;
    if (m_family.queryKeyNormField.empty() || m_fields.flag({m_family.queryKeyNormField}, false))
        attention.queryKeyNorm = m_family.queryKeyNorm;
    return attention;
}

ExpertsSpec ConfigReader::experts()
{
    ExpertsSpec experts;
    const auto usual = isFamily("mixtral") ? std::uint64_t{8} : std::uint64_t{0};
    experts.count =
        m_fields.number({"num_local_experts", "num_experts", "n_routed_experts"}, 0, maxShapeExperts, usual);
    if (experts.count == 0)
        return experts;
    const auto used = isFamily("mixtral") ? std::optional<std::uint64_t>(2) : std::nullopt;
    experts.used = m_fields.number({"num_experts_per_tok", "experts_per_token", "num_experts_per_token"}, 1,
                                   experts.count, used);
    experts.size = m_fields.number({"moe_intermediate_size", "intermediate_size"}, 1, maxShapeWidth);
    experts.bias = m_family.expertBias;
    experts.routerBias = m_family.expertBias;
    experts.selectionBias = m_family.selectionBias;
    experts.sharedGate = m_family.sharedGate;
    const std::uint64_t shared =
        m_fields.number({"n_shared_experts", "num_shared_experts"}, 0, maxShapeExperts,
                        isFamily("llama4_text") ? std::uint64_t{1} : std::uint64_t{0});
    experts.sharedSize = m_fields.number({"shared_expert_intermediate_size"}, 0, maxShapeWidth,
                                         std::min(shared * experts.size, maxShapeWidth));
    experts.sharedGate = experts.sharedGate && experts.sharedSize > 0;
    return experts;
}

bool ConfigReader::isSparse(std::uint64_t layer, const std::vector<std::uint64_t> &denseLayers)
{
    if (std::find(denseLayers.begin(), denseLayers.end(), layer) != denseLayers.end())
        return false;
    if (m_family.hybrid == HybridKind::Jamba) {
        const std::uint64_t period =
            m_fields.number({"expert_layer_period"}, 1, maxShapeLayers, std::uint64_t{2});
        const std::uint64_t offset =
            m_fields.number({"expert_layer_offset"}, 0, maxShapeLayers, std::uint64_t{1});
        return layer % period == offset;
    }
    const std::uint64_t first =
        m_fields.number({"first_k_dense_replace"}, 0, maxShapeLayers, std::uint64_t{0});
    const std::uint64_t frequency = m_fields.number({"moe_layer_freq"}, 1, maxShapeLayers, std::uint64_t{1});
    const std::uint64_t step = m_fields.number({"decoder_sparse_step", "interleave_moe_layer_step"}, 1,
                                               maxShapeLayers, std::uint64_t{1});
    return layer >= first && layer % frequency == 0 && (layer + 1) % step == 0;
}

void ConfigReader::placeExperts()
{
    const ExpertsSpec sparse = experts();
    if (sparse.count == 0 || !m_fields.ok())
        return;
    const auto denseLayers = m_fields.numbers({"mlp_only_layers"}, maxShapeLayers);
    for (std::uint64_t layer = 0; layer < m_layers; ++layer) {
        if (!isSparse(layer, denseLayers.value_or(std::vector<std::uint64_t>{})))
            continue;
        m_spec.layers[layer].experts = sparse;
        m_spec.layers[layer].feedForward.size = 0;
    }
}

void ConfigReader::readFalcon(LayerSpec &layer)
{
    const bool isParallel = m_fields.flag({"parallel_attn"}, true);
    const bool isNew = m_fields.flag({"new_decoder_architecture"}, false);
    const std::uint64_t parallelNorms = m_fields.number({"num_ln_in_parallel_attn"}, 1, 2, isNew ? 2U : 1U);
    layer.norms = !isParallel || (isNew && parallelNorms == 2) ? 2 : 1;
}

void ConfigReader::addNotes()
{
    if (m_fields.has({"vision_config", "visual", "vision_tower", "mm_vision_tower"}))
        m_spec.notes.emplace_back("the vision part of the model is not counted");
    if (m_fields.has({"audio_config"}))
        m_spec.notes.emplace_back("the audio part of the model is not counted");
    const std::uint64_t ahead =
        m_fields.number({"num_nextn_predict_layers"}, 0, maxShapeLayers, std::uint64_t{0});
    if (ahead > 0)
        m_spec.notes.emplace_back("layers that predict further tokens ahead are not counted: " +
                                  std::to_string(ahead));
}

ShapeSpec ConfigReader::read()
{
    m_spec.name = m_fields.source().name;
    m_spec.source = "config.json";
    m_spec.architecture = m_family.architecture;
    readSizes();
    LayerSpec layer;
    layer.norms = m_family.norms;
    layer.normsAfter = m_spec.architecture == "olmo2";
    const bool hasAttention = m_family.hybrid != HybridKind::Mamba && m_family.hybrid != HybridKind::Mamba2;
    if (hasAttention) {
        readHeads();
        layer.attention = attention();
        layer.feedForward = {feedForward(), m_family.mlp, isOn(m_family.mlpBiasField, m_family.mlpBias)};
        if (isFamily("llama4_text"))
            layer.feedForward.size =
                m_fields.number({"intermediate_size_mlp"}, 1, maxShapeWidth, layer.feedForward.size);
        m_spec.feedForward = layer.feedForward.size;
    }
    if (isFamily("falcon"))
        readFalcon(layer);
    if (isFamily("stablelm") && m_fields.flag({"use_parallel_residual"}, false))
        layer.norms = 1;
    addNotes();
    if (!m_fields.ok())
        return m_spec;
    m_spec.layers.assign(m_layers, layer);
    if (hasAttention) {
        placeExperts();
        const std::vector<std::uint64_t> windows = windowsOfConfig(m_fields, m_family, m_layers);
        for (std::uint64_t i = 0; i < m_layers; ++i)
            m_spec.layers[i].attention.window = windows[i];
    }
    if (m_family.hybrid != HybridKind::None && m_fields.ok())
        placeRecurrent(m_fields, m_family, m_spec);
    return m_spec;
}

} // namespace

ShapeSpec specOfConfig(JsonFields &fields)
{
    const std::string type = fields.text({"model_type"}, "");
    if (fields.flag({"is_encoder_decoder"}, false)) {
        fields.fail(ErrorCode::Unsupported, "is_encoder_decoder",
                    "models with an encoder and a decoder are not counted");
        return {};
    }
    const ConfigFamily *family = configFamily(type);
    if (!family) {
        fields.fail(ErrorCode::Unsupported, "model_type",
                    "the family " + quotedForMessage(type) + " is not known; known: " + configFamilyNames());
        return {};
    }
    return ConfigReader(fields, *family).read();
}

} // namespace tokenloupe
