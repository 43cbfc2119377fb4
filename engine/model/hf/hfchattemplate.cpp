// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/hfvocabulary.h"
#include "engine/model/hf/jsontree.h"
#include "engine/model/hf/smallfile.h"

namespace tokenloupe {

namespace {

using nlohmann::json;

constexpr const char *templateKey = "chat_template";

/// A text, or a list of {"name", "template"}: the one named "default", else the first.
std::string templateOf(const json &value)
{
    if (value.is_string())
        return value.get<std::string>();
    std::string first;
    if (!value.is_array())
        return first;
    for (const json &entry : value) {
        std::string text = textMember(entry, "template");
        if (textMember(entry, "name") == "default")
            return text;
        if (first.empty())
            first = std::move(text);
    }
    return first;
}

} // namespace

Result<std::string> readHfChatTemplate(const std::filesystem::path &folder)
{
    std::error_code error;
    if (std::filesystem::exists(folder / "chat_template.jinja", error)) {
        const auto file = openSmallFile(folder / "chat_template.jinja");
        if (!file)
            return tl::unexpected(file.error());
        return std::string(textOf(**file));
    }
    for (const char *name : {"chat_template.json", "tokenizer_config.json"}) {
        if (!std::filesystem::exists(folder / name, error))
            continue;
        const auto tree = readSmallJson(folder / name);
        if (!tree)
            return tl::unexpected(tree.error());
        if (std::string text = templateOf(member(*tree, templateKey)); !text.empty())
            return text;
    }
    return std::string();
}

} // namespace tokenloupe
