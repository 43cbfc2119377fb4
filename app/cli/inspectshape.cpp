// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/inspectshape.h"

#include "engine/model/ggufcontainer.h"
#include "engine/model/hf/configtext.h"
#include "engine/model/hf/hfcontainer.h"
#include "engine/model/model.h"

#include <algorithm>

namespace tokenloupe::cli {

namespace {

/// A number that the architecture's keys hold ("llama.block_count"), or null.
Json metadataNumber(const GgufFile &file, const std::string &architecture, const char *key)
{
    const auto value = file.unsignedValue(architecture + "." + key);
    return value ? Json(*value) : Json();
}

Json metadataFloat(const GgufFile &file, const std::string &architecture, const char *key)
{
    const auto value = file.floatValue(architecture + "." + key);
    return value ? number(static_cast<float>(*value)) : Json();
}

/// One number when all layers have the same.
Json kvHeadsJson(const std::vector<std::uint32_t> &heads)
{
    if (heads.empty())
        return {};
    if (std::all_of(heads.begin(), heads.end(), [&](std::uint32_t n) { return n == heads.front(); }))
        return heads.front();
    return heads;
}

/// The shape as the file states it: read by key, so that files of architectures that do not run here are
/// shown too.
Json ggufShape(const GgufFile &file)
{
    const auto stated = file.stringValue("general.architecture");
    const std::string architecture(stated ? *stated : std::string_view());
    const auto config = readModelConfig(file);
    const auto runs = architectureSpec(architecture);
    const auto n = [&](const char *key) { return metadataNumber(file, architecture, key); };

    Json shape;
    shape["architecture"] = stated ? Json(architecture) : Json();
    shape["supported"] = runs && config;
    if (!stated)
        shape["reason"] = "the file names no architecture: it is no model";
    else if (!runs)
        shape["reason"] = runs.error().text();
    else if (!config)
        shape["reason"] = config.error().text();
    shape["layers"] = n("block_count");
    shape["embedding"] = n("embedding_length");
    shape["heads"] = n("attention.head_count");
    Json kvHeads = n("attention.head_count_kv");
    if (const auto list = file.integerArray(architecture + ".attention.head_count_kv"); list)
        kvHeads = *list;
    else if (kvHeads.is_null())
        kvHeads = shape["heads"];
    shape["kv_heads"] = config ? kvHeadsJson(config->kvHeads) : kvHeads;
    Json headSize = n("attention.key_length");
    if (headSize.is_null() && shape["heads"].is_number() && shape["heads"] > 0 &&
        shape["embedding"].is_number())
        headSize = shape["embedding"].get<std::uint64_t>() / shape["heads"].get<std::uint64_t>();
    shape["head_size"] = config ? Json(config->headSize) : headSize;
    shape["feed_forward"] = n("feed_forward_length");
    Json vocabulary = n("vocab_size");
    if (const GgufValue *tokens = file.find("tokenizer.ggml.tokens");
        tokens && std::holds_alternative<GgufArray>(tokens->value))
        vocabulary = std::get<GgufArray>(tokens->value).count;
    shape["vocabulary"] = config ? Json(config->vocabulary) : vocabulary;
    shape["context_train"] = n("context_length");
    Json base = metadataFloat(file, architecture, "rope.freq_base");
    const auto scaling = file.stringValue(architecture + ".rope.scaling.type");
    shape["rope"] = {{"base", config ? number(config->ropeBase) : base},
                     {"scaling", config ? config->ropeScaling : std::string(scaling ? *scaling : "none")}};
    shape["sliding_window"] = n("attention.sliding_window");
    return shape;
}

/// A config's number under one of these names, or null.
Json statedNumber(const nlohmann::json &config, FieldNames names)
{
    for (const std::string_view name : names) {
        const auto found = config.find(name);
        if (found != config.end() && found->is_number_unsigned())
            return found->get<std::uint64_t>();
    }
    return {};
}

/// What a config says whatever model it is of.
Json statedShape(const nlohmann::json &config)
{
    Json shape;
    shape["layers"] = statedNumber(config, {"num_hidden_layers", "n_layer", "n_layers"});
    shape["embedding"] = statedNumber(config, {"hidden_size", "n_embd", "d_model"});
    shape["heads"] = statedNumber(config, {"num_attention_heads", "n_head", "n_heads"});
    shape["kv_heads"] = statedNumber(config, {"num_key_value_heads", "num_kv_heads"});
    if (shape["kv_heads"].is_null())
        shape["kv_heads"] = shape["heads"];
    shape["head_size"] = statedNumber(config, {"head_dim"});
    shape["feed_forward"] = statedNumber(config, {"intermediate_size", "n_inner", "ffn_hidden_size"});
    shape["vocabulary"] = statedNumber(config, {"vocab_size"});
    shape["context_train"] = statedNumber(config, {"max_position_embeddings", "n_positions", "max_seq_len"});
    shape["rope"] = {{"base", nullptr}, {"scaling", "none"}};
    shape["sliding_window"] = statedNumber(config, {"sliding_window"});
    return shape;
}

Json hfShape(const HfContainer &folder)
{
    const auto architecture = folder.architecture();
    const Result<HfConfig> &read = folder.config();
    Json shape;
    shape["architecture"] = architecture ? Json(*architecture) : Json();
    shape["supported"] = read.has_value();
    if (!read) {
        shape["reason"] = read.error().text();
        shape.update(statedShape(withTextPart(folder.json())));
        return shape;
    }
    const ModelConfig &config = read->model;
    shape["layers"] = config.layers;
    shape["embedding"] = config.embedding;
    shape["heads"] = config.heads;
    shape["kv_heads"] = kvHeadsJson(config.kvHeads);
    shape["head_size"] = config.headSize;
    shape["feed_forward"] = config.feedForward;
    shape["vocabulary"] = config.vocabulary;
    shape["context_train"] = config.contextTrain;
    shape["rope"] = {{"base", number(config.ropeBase)}, {"scaling", config.ropeScaling}};
    shape["sliding_window"] = config.slidingWindow ? Json(*config.slidingWindow) : Json();
    return shape;
}

} // namespace

Json shapeJson(const ModelContainer &container)
{
    if (const GgufFile *file = ggufFileOf(container))
        return ggufShape(*file);
    const HfContainer *folder = hfContainerOf(container);
    return folder ? hfShape(*folder) : Json::object();
}

} // namespace tokenloupe::cli
