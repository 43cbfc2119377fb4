// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commandset.h"
#include "app/cli/metadatajson.h"
#include "app/cli/table.h"
#include "engine/model/model.h"
#include "engine/tokenizer/tokenizer.h"

namespace tokenloupe::cli {

namespace {

struct InspectOptions
{
    Format format = Format::Text;
    std::string model;
};

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
Json shapeJson(const GgufFile &file)
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

Json tokenizerJson(const GgufFile &file)
{
    Json out{{"model", nullptr}, {"pre", nullptr}, {"recognised", false}, {"tokens", 0},
             {"bos", nullptr},   {"eos", nullptr}, {"add_bos", false}};
    if (!file.find("tokenizer.ggml.model"))
        return out;
    auto data = readVocabulary(file, nullptr);
    if (!data) {
        out["reason"] = data.error().text();
        return out;
    }
    out["model"] = data->model;
    out["pre"] = data->pre;
    out["tokens"] = data->texts.size();
    out["bos"] = data->bos ? Json(data->bos->value()) : Json();
    out["eos"] = data->eos ? Json(data->eos->value()) : Json();
    out["add_bos"] = data->addBos;
    const auto tokenizer = makeTokenizer(std::move(*data));
    if (tokenizer)
        out["recognised"] = (*tokenizer)->recognised();
    else
        out["reason"] = tokenizer.error().text();
    return out;
}

Json inspectJson(const GgufFile &file, const std::string &path)
{
    Json out{{"file", path}, {"format", "gguf"}};
    out.update(shapeJson(file));
    out["tokenizer"] = tokenizerJson(file);
    const auto chat = file.stringValue("tokenizer.chat_template");
    out["chat_template"] = chat ? Json(*chat) : Json();
    std::uint64_t total = 0;
    std::map<std::string, std::uint64_t> types;
    Json tensors = Json::array();
    for (const GgufTensor &tensor : file.tensors()) {
        const std::string type = traitsOf(tensor.type).name;
        total += tensor.bytes;
        types[type] += tensor.bytes;
        tensors.push_back(
            {{"name", tensor.name},
             {"type", type},
             {"shape", std::vector(tensor.shape.begin(), tensor.shape.begin() + tensor.dimensions)},
             {"bytes", tensor.bytes},
             {"offset", file.dataOffset() + tensor.offset}});
    }
    out["weights_bytes"] = total;
    out["types"] = Json::object();
    for (const auto &[type, bytes] : types)
        out["types"][type] = bytes;
    out["tensors"] = std::move(tensors);
    out["metadata"] = metadataJson(file);
    return out;
}

std::string plain(const Json &value)
{
    if (value.is_string())
        return value.get<std::string>();
    return value.is_null() ? "–" : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string shapeText(const Json &shape)
{
    std::string text;
    for (const Json &size : shape)
        text += (text.empty() ? "" : " × ") + size.dump();
    return text.empty() ? "scalar" : text;
}

std::string inspectText(const Json &facts)
{
    Table head({{"", Align::Left}, {"", Align::Left}});
    for (const char *key :
         {"file", "format", "architecture", "supported", "reason", "layers", "embedding", "heads", "kv_heads",
          "head_size", "feed_forward", "vocabulary", "context_train"}) {
        if (facts.contains(key))
            head.row({key, plain(facts[key])});
    }
    head.row(
        {"rope", "base " + plain(facts["rope"]["base"]) + ", scaling " + plain(facts["rope"]["scaling"])});
    head.row({"sliding_window", plain(facts["sliding_window"])});
    for (const auto &[key, value] : facts["tokenizer"].items())
        head.row({"tokenizer." + key, plain(value)});
    head.row({"chat_template",
              facts["chat_template"].is_null()
                  ? "–"
                  : std::to_string(facts["chat_template"].get_ref<const std::string &>().size()) + " bytes"});
    head.row({"weights", byteText(facts["weights_bytes"].get<std::uint64_t>())});
    for (const auto &[type, bytes] : facts["types"].items())
        head.row({"  " + type, byteText(bytes.get<std::uint64_t>())});

    Table metadata({{"key", Align::Left}, {"value", Align::Left}});
    for (const auto &[key, value] : facts["metadata"].items()) {
        std::string text = plain(value);
        constexpr std::size_t longest = 80;
        if (text.size() > longest)
            text = text.substr(0, longest) + "…";
        metadata.row({key, text});
    }
    Table tensors({{"tensor", Align::Left},
                   {"type", Align::Left},
                   {"shape", Align::Right},
                   {"bytes", Align::Right},
                   {"offset", Align::Right}});
    for (const Json &tensor : facts["tensors"])
        tensors.row({plain(tensor["name"]), plain(tensor["type"]), shapeText(tensor["shape"]),
                     plain(tensor["bytes"]), plain(tensor["offset"])});
    return head.text() + "\n" + metadata.text() + "\n" + tensors.text();
}

ExitStatus runInspect(CommandSet &set, const InspectOptions &options)
{
    const auto file = GgufFile::open(options.model);
    if (!file)
        return set.terminal.fail(file.error());
    const Json facts = inspectJson(**file, options.model);
    if (options.format == Format::JsonLines)
        set.terminal.json(facts);
    else
        set.terminal.text(inspectText(facts));
    return set.terminal.end();
}

} // namespace

void addInspect(CommandSet &set)
{
    auto options = std::make_shared<InspectOptions>();
    CLI::App *command = addCommand(
        set, "inspect", "What a model file holds: shape, tokenizer, tensors, metadata", options, runInspect);
    command->add_option("model", options->model, "GGUF file")->required();
}

} // namespace tokenloupe::cli
