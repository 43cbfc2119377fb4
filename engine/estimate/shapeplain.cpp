// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/shapeplain.h"

#include <algorithm>

namespace tokenloupe {

using nlohmann::json;

namespace {

/// What the family decides and the fields do not say.
struct PlainFamily
{
    std::string_view architecture;
    bool fused = false;         ///< q, k, v in one matrix
    bool gatedFused = false;    ///< gate and up in one matrix
    std::uint32_t norms = 2;    ///< of a layer
    bool normsByHeads = false;  ///< one norm where one head serves all queries, else `norms`
    bool noNormWeights = false; ///< the norm has nothing to learn
    bool headBias = false;
    std::uint64_t selectionBiasFrom = 0; ///< routers of that many experts and more have it; 0: none
};
constexpr PlainFamily families[] = {
    {"falcon", true, false, 2, true},
    {"gptneox", true},
    {"gpt2", true},
    {"bloom", true},
    {"mpt", true},
    {"phi2", false, false, 1, false, false, true},
    {"phi3", true, true},
    {"olmo", false, false, 2, false, true},
    {"gemma2", false, false, 4},
    {"gemma3", false, false, 4},
    // The third version under this name chooses experts by scores with a learned offset.
    {"deepseek2", false, false, 2, false, false, false, 256},
};

PlainFamily familyOf(std::string_view architecture)
{
    for (const PlainFamily &family : families) {
        if (family.architecture == architecture)
            return family;
    }
    return {};
}

bool contains(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

/// The windows of all layers: {size, layers} with a 0 or 1 for each layer, {size, every}: all but every n-th,
/// or a size for all.
std::vector<std::uint64_t> windowsOf(JsonFields &fields, std::uint64_t layers)
{
    const json *value = fields.find({"sliding_window"});
    if (!value || !value->is_object())
        return std::vector<std::uint64_t>(
            layers, fields.number({"sliding_window"}, 0, maxShapeRows, std::uint64_t{0}));
    JsonFields part(*value, fields.source(), fields.path() + "sliding_window.");
    const std::uint64_t size = part.number({"size"}, 1, maxShapeRows);
    std::vector<std::uint64_t> windows = part.perLayer({"layers", "layers_1_is_sliding"}, 0, 1, layers, 1);
    const std::uint64_t every = part.number({"every"}, 0, maxShapeLayers, std::uint64_t{0});
    for (std::uint64_t layer = 0; every > 0 && layer < layers; ++layer)
        windows[layer] = (layer + 1) % every != 0;
    for (std::uint64_t &window : windows)
        window *= size;
    fields.take(part);
    return windows;
}

/// Routed experts; `dense` becomes the number of first layers that have none.
ExpertsSpec expertsOf(JsonFields &fields, const PlainFamily &family, std::string_view mlp,
                      std::uint64_t layers, std::uint64_t &dense)
{
    ExpertsSpec experts;
    dense = layers;
    const json *value = fields.object("moe");
    if (!value)
        return experts;
    JsonFields part(*value, fields.source(), fields.path() + "moe.");
    experts.count = part.number({"experts"}, 1, maxShapeExperts);
    experts.used = part.number({"experts_per_token"}, 1, experts.count);
    const std::uint64_t width = fields.number({"ffn"}, 1, maxShapeWidth, std::uint64_t{1});
    experts.size = part.number({"expert_ffn"}, 1, maxShapeWidth, width);
    const std::uint64_t shared = part.number({"shared_experts"}, 0, maxShapeExperts, std::uint64_t{0});
    experts.sharedSize =
        part.number({"shared_ffn"}, 0, maxShapeWidth, std::min(shared * experts.size, maxShapeWidth));
    experts.sharedGate = part.flag({"shared_gate"}, false);
    experts.bias = contains(mlp, "bias");
    experts.routerBias = part.flag({"router_bias"}, experts.bias);
    experts.selectionBias = part.flag({"selection_bias"}, family.selectionBiasFrom > 0 &&
                                                              experts.count >= family.selectionBiasFrom);
    dense = part.number({"dense_layers"}, 0, layers, std::uint64_t{0});
    fields.take(part);
    return experts;
}

std::shared_ptr<const LatentSpec> latentOf(JsonFields &fields, std::uint64_t headSize)
{
    const json *value = fields.object("mla");
    if (!value)
        return nullptr;
    JsonFields part(*value, fields.source(), fields.path() + "mla.");
    LatentSpec latent;
    latent.rank = part.number({"kv_lora_rank"}, 1, maxShapeWidth);
    latent.ropeSize = part.number({"qk_rope_head_dim"}, 0, maxShapeHeads);
    const std::uint64_t rest = headSize > latent.ropeSize ? headSize - latent.ropeSize : headSize;
    latent.nopeSize = part.number({"qk_nope_head_dim"}, 1, maxShapeHeads, rest);
    latent.valueSize = part.number({"v_head_dim"}, 1, maxShapeHeads, latent.nopeSize);
    latent.queryRank = part.number({"q_lora_rank"}, 0, maxShapeWidth, std::uint64_t{0});
    fields.take(part);
    return std::make_shared<const LatentSpec>(latent);
}

QkNorm queryKeyNormOf(JsonFields &fields)
{
    const json *value = fields.find({"qk_norm"});
    if (!value)
        return QkNorm::None;
    if (value->is_boolean())
        return value->get<bool>() ? QkNorm::Head : QkNorm::None;
    const std::string kind = fields.text({"qk_norm"}, "none");
    if (kind == "default" || kind == "head")
        return QkNorm::Head;
    if (kind == "olmo2" || kind == "whole")
        return QkNorm::Whole;
    if (kind != "none")
        fields.fail(ErrorCode::InvalidArgument, "qk_norm",
                    "expected true, false, \"default\" or \"olmo2\", found \"" + kind + "\"");
    return QkNorm::None;
}

AttentionSpec attentionOf(JsonFields &fields, const PlainFamily &family, const ShapeSpec &spec)
{
    AttentionSpec attention;
    attention.heads = spec.heads;
    attention.kvHeads = fields.number({"kv_heads"}, 1, spec.heads, spec.heads);
    attention.latent = latentOf(fields, spec.headSize);
    if (!attention.latent && attention.kvHeads > 0 && spec.heads % attention.kvHeads != 0)
        fields.fail(ErrorCode::InvalidArgument, "kv_heads",
                    "expected a divisor of the " + std::to_string(spec.heads) + " heads, found " +
                        std::to_string(attention.kvHeads));
    attention.keySize = spec.headSize;
    attention.valueSize = fields.number({"value_head_dim"}, 1, maxShapeWidth, spec.headSize);
    attention.fused = family.fused;
    const bool bias = fields.flag({"bias"}, false);
    attention.queryKeyValueBias = fields.flag({"qkv_bias"}, bias);
    attention.outputBias = bias;
    attention.sinks = fields.flag({"attention_sinks_per_head"}, false);
    attention.queryKeyNorm = queryKeyNormOf(fields);
    return attention;
}

std::uint64_t positionsOf(JsonFields &fields, std::uint64_t context)
{
    // "learned, 1024 rows"; the rows are the context.
    const std::string positions = fields.text({"position_embeddings"}, "");
    return contains(positions, "learned") ? context : 0;
}

} // namespace

ShapeSpec specOfPlainShape(JsonFields &fields)
{
    ShapeSpec spec;
    spec.name = fields.text({"id", "name"}, fields.source().name);
    spec.source = "shape";
    spec.architecture = fields.text({"gguf_arch", "architecture"}, "llama");
    const PlainFamily family = familyOf(spec.architecture.substr(0, spec.architecture.find(' ')));

    const std::uint64_t layers = fields.number({"layers"}, 1, maxShapeLayers);
    spec.embedding = fields.number({"hidden"}, 1, maxShapeWidth);
    spec.heads = fields.number({"heads"}, 1, maxShapeHeads);
    if (!fields.has({"head_dim"}) && spec.embedding % spec.heads != 0)
        fields.fail(ErrorCode::InvalidArgument, "heads",
                    "expected a divisor of the width " + std::to_string(spec.embedding) + ", found " +
                        std::to_string(spec.heads));
    spec.headSize = fields.number({"head_dim"}, 1, maxShapeWidth, spec.embedding / spec.heads);
    spec.feedForward = fields.number({"ffn"}, 1, maxShapeWidth);
    spec.vocabulary = fields.number({"vocab"}, 1, maxShapeRows);
    spec.embeddingRows = fields.number({"embedding_rows"}, 1, maxShapeRows, spec.vocabulary);
    spec.context = fields.number({"context"}, 1, maxShapeRows, std::uint64_t{0});
    spec.positions = positionsOf(fields, spec.context);
    spec.tied = fields.flag({"tied_embeddings"}, false);
    spec.headBias = family.headBias;
    spec.embeddingNorm = fields.flag({"embedding_norm"}, false);
    const bool isLayerNorm = contains(fields.text({"norm"}, "RMSNorm"), "LayerNorm");
    if (family.noNormWeights)
        spec.norm = NormParameters::None;
    else if (isLayerNorm)
        spec.norm = NormParameters::WeightAndBias;

    const std::string mlp = fields.text({"mlp"}, "gated");
    LayerSpec layer;
    layer.attention = attentionOf(fields, family, spec);
    layer.norms = family.normsByHeads && layer.attention.kvHeads == 1 ? 1 : family.norms;
    layer.normsAfter = spec.architecture == "olmo2";
    layer.feedForward.size = spec.feedForward;
    layer.feedForward.kind = contains(mlp, "plain") ? MlpKind::Plain
                             : family.gatedFused    ? MlpKind::GatedFused
                                                    : MlpKind::Gated;
    layer.feedForward.bias = fields.flag({"bias"}, false);
    std::uint64_t dense = layers;
    const ExpertsSpec experts = expertsOf(fields, family, mlp, layers, dense);
    const std::vector<std::uint64_t> windows = windowsOf(fields, layers);
    if (!fields.ok())
        return spec;
    spec.layers.assign(layers, layer);
    for (std::uint64_t i = 0; i < layers; ++i) {
        spec.layers[i].attention.window = windows[i];
        if (i < dense)
            continue;
        spec.layers[i].experts = experts;
        spec.layers[i].feedForward.size = 0;
    }
    return spec;
}

} // namespace tokenloupe
