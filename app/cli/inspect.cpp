// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/addcommand.h"
#include "app/cli/inspectshape.h"
#include "app/cli/metadatajson.h"
#include "app/cli/table.h"
#include "engine/model/modelcontainer.h"
#include "engine/tokenizer/tokenizer.h"

#include <algorithm>
#include <map>

namespace tokenloupe::cli {

namespace {

struct InspectOptions
{
    Format format = Format::Text;
    std::string model;
};

Json tokenizerJson(const ModelContainer &container)
{
    Json out{{"model", nullptr}, {"pre", nullptr}, {"recognised", false}, {"tokens", 0},
             {"bos", nullptr},   {"eos", nullptr}, {"add_bos", false}};
    if (!container.hasVocabulary())
        return out;
    auto data = container.readVocabulary(nullptr);
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

/// Of several files each tensor says in which one it lies.
Json tensorsJson(const std::vector<ContainerTensor> &tensors)
{
    const bool areSeveral = std::any_of(tensors.begin(), tensors.end(), [&](const ContainerTensor &tensor) {
        return tensor.file != tensors.front().file;
    });
    Json list = Json::array();
    for (const ContainerTensor &tensor : tensors) {
        Json entry{{"name", tensor.name},
                   {"type", std::string(tensor.type)},
                   {"shape", tensor.shape},
                   {"bytes", tensor.bytes},
                   {"offset", tensor.offset}};
        if (areSeveral)
            entry["file"] = std::string(tensor.file);
        list.push_back(std::move(entry));
    }
    return list;
}

Json inspectJson(const ModelContainer &container, const std::string &path)
{
    Json out{{"file", path}, {"format", container.format() == ContainerFormat::Gguf ? "gguf" : "hf"}};
    out.update(shapeJson(container));
    out["tokenizer"] = tokenizerJson(container);
    const std::string chat = container.readChatTemplate(nullptr);
    out["chat_template"] = chat.empty() ? Json() : Json(chat);
    std::map<std::string, std::uint64_t> types;
    for (const ContainerTensor &tensor : container.tensors())
        types[std::string(tensor.type)] += tensor.bytes;
    out["weights_bytes"] = container.tensorBytes();
    out["types"] = Json::object();
    for (const auto &[type, bytes] : types)
        out["types"][type] = bytes;
    out["tensors"] = tensorsJson(container.tensors());
    out["metadata"] = metadataJson(container);
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
    const auto container = openModelContainer(options.model);
    if (!container)
        return set.terminal.fail(container.error());
    const Json facts = inspectJson(**container, options.model);
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
    CLI::App *command = addCommand(set, "inspect", "What a model holds: shape, tokenizer, tensors, metadata",
                                   options, runInspect);
    command->add_option("model", options->model, "GGUF file or Hugging Face folder")->required();
}

} // namespace tokenloupe::cli
