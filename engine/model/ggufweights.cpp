// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/ggufweights.h"

#include <algorithm>
#include <iterator>

namespace tokenloupe {

namespace {

struct Stem
{
    WeightRole role;
    std::string_view text; ///< without "blk.N." and ".weight"; empty: never stored so
};

constexpr Stem stems[] = {
    {WeightRole::TokenEmbedding, "token_embd"},
    {WeightRole::PositionEmbedding, "position_embd"},
    {WeightRole::EmbeddingNorm, "token_embd_norm"},
    {WeightRole::OutputNorm, "output_norm"},
    {WeightRole::OutputHead, "output"},
    {WeightRole::RopeFactors, "rope_freqs"},
    {WeightRole::RopeShortFactors, "rope_factors_short"},
    {WeightRole::RopeLongFactors, "rope_factors_long"},
    {WeightRole::AttentionNorm, "attn_norm"},
    {WeightRole::QueryKeyValue, "attn_qkv"},
    {WeightRole::Query, "attn_q"},
    {WeightRole::Key, "attn_k"},
    {WeightRole::Value, "attn_v"},
    {WeightRole::QueryNorm, "attn_q_norm"},
    {WeightRole::KeyNorm, "attn_k_norm"},
    {WeightRole::AttentionOutput, "attn_output"},
    {WeightRole::AttentionPostNorm, "post_attention_norm"},
    {WeightRole::FeedForwardNorm, "ffn_norm"},
    {WeightRole::GateUp, ""},
    {WeightRole::Gate, "ffn_gate"},
    {WeightRole::Up, "ffn_up"},
    {WeightRole::Down, "ffn_down"},
    {WeightRole::Router, "ffn_gate_inp"},
    {WeightRole::ExpertGate, "ffn_gate_exps"},
    {WeightRole::ExpertUp, "ffn_up_exps"},
    {WeightRole::ExpertDown, "ffn_down_exps"},
    {WeightRole::FeedForwardPostNorm, "post_ffw_norm"},
};

// Files from before all experts were one tensor: "blk.0.ffn_gate.3.weight".
constexpr Stem expertStems[] = {
    {WeightRole::ExpertGate, "ffn_gate"},
    {WeightRole::ExpertUp, "ffn_up"},
    {WeightRole::ExpertDown, "ffn_down"},
};

struct Exception
{
    std::string_view architecture;
    WeightRole role;
    std::string_view first;       ///< what is tried
    std::string_view second = {}; ///< and then
};

constexpr Exception exceptions[] = {
    {"phi3", WeightRole::GateUp, "ffn_up"},
    {"phi3", WeightRole::Gate, "ffn_up"}, // only asked for, and then missing, when the pair is not there
    // One norm for both, or one for each; the second is then attention's.
    {"falcon", WeightRole::AttentionNorm, "attn_norm_2", "attn_norm"},
    {"falcon", WeightRole::FeedForwardNorm, "attn_norm"},
};

std::vector<std::string_view> stemsOf(std::string_view architecture, WeightRole role)
{
    for (const Exception &exception : exceptions) {
        if (exception.architecture == architecture && exception.role == role) {
            if (exception.second.empty())
                return {exception.first};
            return {exception.first, exception.second};
        }
    }
    return {std::find_if(std::begin(stems), std::end(stems), [role](const Stem &stem) {
                return stem.role == role;
            })->text};
}

} // namespace

GgufWeights::GgufWeights(const GgufFile &file, std::string_view architecture, std::uint32_t layers)
    : m_file(file)
    , m_architecture(architecture)
    , m_layers(layers)
    , m_used(file.tensors().size(), 0)
{}

std::vector<std::string> GgufWeights::namesOf(const WeightId &id) const
{
    const std::string prefix = id.layer ? "blk." + std::to_string(*id.layer) + "." : std::string();
    const std::string suffix = id.part == WeightPart::Bias ? ".bias" : ".weight";
    std::vector<std::string> names;
    if (id.expert) {
        for (const Stem &stem : expertStems) {
            if (stem.role == id.role)
                names.push_back(prefix + std::string(stem.text) + "." + std::to_string(*id.expert) + suffix);
        }
        return names;
    }
    for (const std::string_view stem : stemsOf(m_architecture, id.role)) {
        if (!stem.empty())
            names.push_back(prefix + std::string(stem) + suffix);
        // A bias belongs to the weight that is there, not to the one that would have been taken without it.
        if (m_file.tensor(prefix + std::string(stem) + ".weight"))
            break;
    }
    return names;
}

Result<std::optional<StoredWeight>> GgufWeights::find(const WeightId &id)
{
    for (const std::string &name : namesOf(id)) {
        const GgufTensor *tensor = m_file.tensor(name);
        if (!tensor)
            continue;
        m_used[static_cast<std::size_t>(tensor - m_file.tensors().data())] = 1;
        return StoredWeight{tensor->name, tensor->type, {}, tensor->shape, tensor->data};
    }
    return std::optional<StoredWeight>();
}

std::string GgufWeights::nameOf(const WeightId &id) const
{
    const std::vector<std::string> names = namesOf(id);
    return names.empty() ? std::string() : names.back();
}

/// Tables that can be computed from the config, which older converters stored all the same.
bool GgufWeights::isRedundant(std::size_t tensor) const
{
    const std::string_view name = m_file.tensors()[tensor].name;
    return name.ends_with(".attn_rot_embd") || name.ends_with("rotary_emb.inv_freq");
}

bool GgufWeights::isInsideLayer(std::size_t tensor) const
{
    return isLayerName(m_file.tensors()[tensor].name, "blk.", m_layers);
}

} // namespace tokenloupe
