// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"
#include "engine/model/ggufconfigreader.h"
#include "engine/model/model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tokenloupe {

namespace {

// Far above any model; they keep products of two of them inside 64 bits for whoever computes sizes from a
// header alone. The tensors are what really bounds the numbers of a model that is loaded.
constexpr std::uint64_t maxWidth = 1U << 24;
constexpr std::uint64_t maxHeads = 1U << 16;
constexpr std::uint64_t maxU32 = std::numeric_limits<std::uint32_t>::max();

std::uint32_t readLayerCount(GgufConfigReader &reader, const GgufFile &file)
{
    const std::uint32_t layers = reader.count("block_count", maxU32);
    // Before anything is made for each layer: a layer has tensors, so there cannot be more than those.
    const std::uint64_t most = file.tensors().empty() ? maxLayersWithoutTensors : file.tensors().size();
    if (layers > most)
        reader.fail(ErrorCode::BadFile, "block_count",
                    "found " + std::to_string(layers) + " layers, but the file has only " +
                        std::to_string(file.tensors().size()) + " tensors");
    return layers;
}

void readHeads(GgufConfigReader &reader, ModelConfig &config)
{
    config.heads = reader.count("attention.head_count", maxHeads);
    config.kvHeads = reader.perLayer("attention.head_count_kv", maxHeads, config.layers, config.heads);
    if (!reader.status() || config.heads == 0)
        return;
    std::optional<std::uint32_t> share;
    if (config.embedding % config.heads == 0)
        share = config.embedding / config.heads;
    else if (!reader.has("attention.key_length") || !reader.has("attention.value_length"))
        reader.fail(ErrorCode::BadFile, "attention.head_count",
                    "expected a divisor of the width " + std::to_string(config.embedding) + ", found " +
                        std::to_string(config.heads));
    for (const std::uint32_t kvHeads : config.kvHeads) {
        if (config.heads % kvHeads != 0)
            reader.fail(ErrorCode::BadFile, "attention.head_count_kv",
                        "expected a divisor of the " + std::to_string(config.heads) + " heads, found " +
                            std::to_string(kvHeads));
    }
    config.headSize = reader.count("attention.key_length", maxHeads, share);
    config.valueHeadSize = reader.count("attention.value_length", maxHeads, share);
}

/// Positions that are not turned into angles: ALiBi's slopes, learned rows. What the architecture's row says
/// may be otherwise in this file.
void readPositions(GgufConfigReader &reader, const GgufFile &file, ModelConfig &config)
{
    ArchitectureSpec &spec = config.spec;
    if (spec.positions == PositionKind::Alibi) {
        config.alibiBias = static_cast<float>(
            reader.floating("attention.max_alibi_bias", static_cast<double>(spec.alibiBias)));
        if (config.alibiBias == 0.0F && file.tensor("position_embd.weight"))
            spec.positions = PositionKind::Learned;
    }
}

void readRotation(GgufConfigReader &reader, const GgufFile &file, ModelConfig &config)
{
    if (config.spec.positions != PositionKind::Rotary)
        return;
    config.ropeBase = static_cast<float>(reader.floating("rope.freq_base", 10000.0));
    if (config.ropeBase <= 0.0F)
        reader.fail(ErrorCode::BadFile, "rope.freq_base", "expected a number above 0");
    config.localRopeBase = static_cast<float>(
        reader.floating("rope.freq_base_swa", static_cast<double>(config.spec.localRopeBase)));
    config.ropeDimensions = reader.count("rope.dimension_count", maxHeads, config.headSize);
    if (reader.status() && (config.ropeDimensions > config.headSize || config.ropeDimensions % 2 != 0))
        reader.fail(ErrorCode::BadFile, "rope.dimension_count",
                    "expected an even number up to the head size " + std::to_string(config.headSize) +
                        ", found " + std::to_string(config.ropeDimensions));

    // Files without a type that state a factor mean linear scaling; "scale_linear" is the key's older name.
    const std::string factorKey =
        reader.has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
    const double factor = reader.floating(factorKey, 1.0);
    config.ropeScaling =
        reader.string("rope.scaling.type", factor != 0.0 && factor != 1.0 ? "linear" : "none");
    if (config.ropeScaling != "none" && factor != 0.0)
        config.ropeScaleFactor = static_cast<float>(factor);
    if (config.ropeScaleFactor <= 0.0F)
        reader.fail(ErrorCode::BadFile, factorKey, "expected a number above 0");
    if (config.ropeScaling == "none" && file.tensor("rope_freqs.weight"))
        config.ropeScaling = "llama3";
    if (config.ropeScaling == "none" &&
        (file.tensor("rope_factors_long.weight") || file.tensor("rope_factors_short.weight")))
        config.ropeScaling = "longrope";
}

/// A number that is above 0 where it is stated.
float positiveOr(GgufConfigReader &reader, const std::string &key, float fallback)
{
    const auto value = static_cast<float>(reader.floating(key, static_cast<double>(fallback)));
    if (reader.status() && value <= 0.0F)
        reader.fail(ErrorCode::BadFile, key, "expected a number above 0, found " + std::to_string(value));
    return value;
}

void readRotationDetails(GgufConfigReader &reader, ModelConfig &config)
{
    RopeScalingDetails &details = config.ropeDetails;
    details.originalContext = reader.countOrNone("rope.scaling.original_context_length", maxU32);
    details.betaFast = positiveOr(reader, "rope.scaling.yarn_beta_fast", details.betaFast);
    details.betaSlow = positiveOr(reader, "rope.scaling.yarn_beta_slow", details.betaSlow);
    if (!reader.has("rope.scaling.attn_factor"))
        return;
    float factor = positiveOr(reader, "rope.scaling.attn_factor", 1.0F);
    // YaRN's own share is not in the key.
    if (config.ropeScaling == "yarn" && config.ropeScaleFactor > 1.0F)
        factor *= 1.0F + 0.1F * std::log(config.ropeScaleFactor);
    if (config.ropeScaling == "yarn" || config.ropeScaling == "longrope")
        details.attentionFactor = factor;
}

void readAttention(GgufConfigReader &reader, ModelConfig &config)
{
    const ArchitectureSpec &spec = config.spec;
    const auto share =
        static_cast<double>(config.layers == spec.wideQueryLayers && config.heads > 0
                                ? static_cast<float>(config.embedding) / static_cast<float>(config.heads)
                                : 0.0F);
    config.queryScale =
        static_cast<float>(reader.floating("attention.scale", share > 0.0 ? 1.0 / std::sqrt(share) : 0.0));
    config.attentionSoftCap = static_cast<float>(
        reader.floating("attn_logit_softcapping", static_cast<double>(spec.attentionSoftCap)));
    config.logitSoftCap = static_cast<float>(
        reader.floating("final_logit_softcapping", static_cast<double>(spec.logitSoftCap)));
    config.queryKeyValueClamp = static_cast<float>(reader.floating("attention.clamp_kqv", 0.0));
    if (spec.embeddingScale == EmbeddingScale::RootOfWidth)
        config.embeddingScale = std::sqrt(static_cast<float>(config.embedding));
}

/// Which layers see only a window, and which turn nothing.
void readLayerPattern(GgufConfigReader &reader, ModelConfig &config)
{
    const ArchitectureSpec &spec = config.spec;
    const std::uint32_t window = reader.has("attention.sliding_window")
                                     ? reader.countOrNone("attention.sliding_window", maxU32)
                                     : spec.window;
    if (window > 0) {
        config.slidingWindow = window;
        const std::vector<bool> local =
            reader.localLayers("attention.sliding_window_pattern", config.layers, spec.windowPeriod);
        if (std::find(local.begin(), local.end(), false) != local.end()) {
            for (const bool isLocal : local)
                config.windows.push_back(isLocal ? window : 0);
        }
    }
    for (std::uint32_t layer = 0; spec.unrotatedPeriod > 0 && layer < config.layers; ++layer)
        config.unrotated.push_back((layer + 1) % spec.unrotatedPeriod == 0 ? 1 : 0);
}

void readExperts(GgufConfigReader &reader, ModelConfig &config)
{
    config.experts = reader.countOrNone("expert_count", maxHeads);
    if (config.experts == 0)
        return;
    config.expertsUsed = reader.count("expert_used_count", maxHeads);
    if (reader.status() && config.expertsUsed > config.experts)
        reader.fail(ErrorCode::BadFile, "expert_used_count",
                    "expected at most the " + std::to_string(config.experts) + " experts, found " +
                        std::to_string(config.expertsUsed));
    config.expertFeedForward = reader.count("expert_feed_forward_length", maxWidth, config.feedForward);
}

std::uint32_t vocabularySize(GgufConfigReader &reader, const GgufFile &file)
{
    if (const GgufTensor *embedding = file.tensor("token_embd.weight"))
        return static_cast<std::uint32_t>(std::min(embedding->shape[1], maxU32));
    const GgufValue *tokens = file.find("tokenizer.ggml.tokens");
    if (const auto *array = tokens ? std::get_if<GgufArray>(&tokens->value) : nullptr)
        return static_cast<std::uint32_t>(std::min(array->count, maxU32));
    return reader.count("vocab_size", maxU32, 0);
}

} // namespace

Result<ModelConfig> readModelConfig(const GgufFile &file)
{
    const auto architecture = file.stringValue("general.architecture");
    if (!architecture)
        return tl::unexpected(architecture.error());
    ModelConfig config;
    config.architecture = sanitizedUtf8(*architecture);
    config.name = file.name();
    if (const auto name = file.stringValue("general.name"))
        config.name = sanitizedUtf8(*name);
    for (const GgufTensor &tensor : file.tensors())
        config.parameters += tensor.elements(); // at most twice the file's bits: no wrap-around

    const auto spec = architectureSpec(*architecture);
    if (spec)
        config.spec = **spec;
    GgufConfigReader reader(file, std::string(*architecture), spec ? Presence::Required : Presence::Optional);
    config.layers = readLayerCount(reader, file);
    if (!reader.status())
        return tl::unexpected(reader.status().error());
    config.embedding = reader.count("embedding_length", maxWidth);
    config.contextTrain = reader.count("context_length", maxU32);
    config.feedForward = reader.count("feed_forward_length", maxWidth);
    config.normEpsilon = static_cast<float>(reader.floating(config.spec.norm == NormKind::Rms
                                                                ? "attention.layer_norm_rms_epsilon"
                                                                : "attention.layer_norm_epsilon",
                                                            {}));
    readHeads(reader, config);
    if (spec)
        readPositions(reader, file, config);
    readRotation(reader, file, config);
    if (spec) {
        readRotationDetails(reader, config);
        readAttention(reader, config);
        readLayerPattern(reader, config);
        readExperts(reader, config);
    } else if (const auto window = file.unsignedValue(config.architecture + ".attention.sliding_window");
               window && *window > 0 && *window <= maxU32) {
        config.slidingWindow = static_cast<std::uint32_t>(*window);
    }
    config.vocabulary = vocabularySize(reader, file);
    if (!reader.status())
        return tl::unexpected(reader.status().error());
    return config;
}

} // namespace tokenloupe
