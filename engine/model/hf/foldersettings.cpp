// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/foldersettings.h"

#include "engine/base/utf8.h"
#include "engine/model/hf/jsontree.h"
#include "engine/model/hf/smallfile.h"
#include "engine/model/textpipeline.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace tokenloupe {

using nlohmann::json;

namespace {

constexpr std::uint64_t mostTokens = 1U << 24;

/// "bos_token": a text, or an object with the text in it.
std::string textOf(const json &value)
{
    return value.is_string() ? value.get<std::string>() : textMember(value, "content");
}

std::optional<TokenId> tokenOfText(const VocabularyData &data, std::string_view text)
{
    // Added tokens come last in most vocabularies.
    for (std::size_t i = data.texts.size(); i-- > 0;) {
        if (data.texts[i] == text && (data.kinds[i] != TokenKind::Unused))
            return TokenId(static_cast<std::uint32_t>(i));
    }
    return std::nullopt;
}

/// The ids that a field names: one or a list.
std::vector<std::uint64_t> idsOf(const json &value)
{
    std::vector<std::uint64_t> ids;
    if (const auto id = unsignedOf(value))
        ids.push_back(*id);
    if (value.is_array()) {
        for (const json &part : value) {
            if (const auto id = unsignedOf(part))
                ids.push_back(*id);
        }
    }
    return ids;
}

} // namespace

Result<FolderSettings> FolderSettings::read(const std::filesystem::path &folder,
                                            std::vector<std::string> *warnings)
{
    FolderSettings settings;
    settings.m_warnings = warnings;
    const std::array<std::pair<const char *, json *>, 5> files{{
        {"tokenizer_config.json", &settings.m_tokenizer},
        {"special_tokens_map.json", &settings.m_specials},
        {"added_tokens.json", &settings.m_added},
        {"generation_config.json", &settings.m_generation},
        {"config.json", &settings.m_model},
    }};
    for (const auto &[name, tree] : files) {
        std::error_code error;
        if (!std::filesystem::exists(folder / name, error))
            continue;
        auto value = readSmallJson(folder / name);
        if (!value)
            return tl::unexpected(value.error());
        if (!value->is_object())
            return makeError(ErrorCode::BadFile, std::string("read ") + name, "an object is expected");
        *tree = std::move(*value);
    }
    return settings;
}

std::string FolderSettings::tokenizerClass() const
{
    return textMember(m_tokenizer, "tokenizer_class");
}

std::map<std::uint64_t, FolderSettings::Added> FolderSettings::addedTokens() const
{
    std::map<std::uint64_t, Added> tokens;
    for (const auto &[text, id] : m_added.items()) {
        const auto value = unsignedOf(id);
        if (value && !text.empty())
            tokens[*value] = {text, TokenKind::UserDefined};
    }
    for (const auto &[key, token] : member(m_tokenizer, "added_tokens_decoder").items()) {
        std::uint64_t id = 0;
        const auto end = std::from_chars(key.data(), key.data() + key.size(), id);
        if (end.ec != std::errc() || end.ptr != key.data() + key.size() || textOf(token).empty())
            continue;
        const bool special = flagMember(token, "special").value_or(false);
        tokens[id] = {textOf(token), special ? TokenKind::Control : TokenKind::UserDefined};
    }
    return tokens;
}

std::vector<std::string> FolderSettings::specialTexts() const
{
    std::vector<std::string> texts;
    for (const char *key : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
        bool known = false;
        if (std::string text = specialText(key, known); !text.empty())
            texts.push_back(std::move(text));
    }
    return texts;
}

Status FolderSettings::addTokens(VocabularyData &data) const
{
    for (const auto &[id, token] : addedTokens()) {
        if (id < data.texts.size()) {
            if (data.texts[id] != token.text)
                warn("added token " + std::to_string(id) + ": " + quotedForMessage(token.text) +
                     " is expected, the vocabulary has " + quotedForMessage(data.texts[id]));
            else if (data.kinds[id] == TokenKind::Normal)
                data.kinds[id] = token.kind;
            continue;
        }
        if (id >= std::min<std::uint64_t>(mostTokens, 2 * data.texts.size() + 65536))
            return makeError(ErrorCode::BadFile, "read the added tokens",
                             "id " + std::to_string(id) + " of " + quotedForMessage(token.text) +
                                 " is far behind the vocabulary's " + std::to_string(data.texts.size()) +
                                 " tokens");
        data.texts.resize(id + 1);
        data.kinds.resize(id + 1, TokenKind::Unused);
        if (!data.scores.empty())
            data.scores.resize(id + 1, 0.0F);
        data.texts[id] = token.text;
        data.kinds[id] = token.kind;
    }
    return {};
}

std::string FolderSettings::specialText(const char *key, bool &known) const
{
    for (const json *file : {&m_tokenizer, &m_specials}) {
        if (!file->is_object() || !file->contains(key))
            continue;
        known = true;
        if (std::string text = textOf(member(*file, key)); !text.empty())
            return text;
    }
    return {};
}

void FolderSettings::applyToken(VocabularyData &data, Id &id, const char *key, const char *idKey) const
{
    bool known = false;
    if (const std::string text = specialText(key, known); !text.empty()) {
        if (const auto found = tokenOfText(data, text))
            id = found;
        else
            warn(std::string("field \"") + key + "\": " + quotedForMessage(text) +
                 " is no token of the vocabulary; it counts as absent");
        return;
    }
    if (id || known)
        return;
    const json &generation = member(m_generation, idKey);
    const auto ids = idsOf(generation.is_null() ? member(m_model, idKey) : generation);
    if (!ids.empty() && ids.front() < data.texts.size())
        id = TokenId(static_cast<std::uint32_t>(ids.front()));
}

void FolderSettings::applyEndOfTurn(VocabularyData &data) const
{
    const json &generation = member(m_generation, "eos_token_id");
    const auto ids = idsOf(generation.is_null() ? member(m_model, "eos_token_id") : generation);
    for (const std::uint64_t id : ids) {
        if (id < data.texts.size())
            data.endOfTurn.emplace_back(static_cast<std::uint32_t>(id));
        else
            warn("field \"eos_token_id\": expected a token below " + std::to_string(data.texts.size()) +
                 ", found " + std::to_string(id) + "; it counts as absent");
    }
}

void FolderSettings::applyFrame(VocabularyData &data) const
{
    auto addBos = flagMember(m_tokenizer, "add_bos_token");
    const auto addEos = flagMember(m_tokenizer, "add_eos_token");
    // These classes add it unless they are told not to.
    const std::string kind = tokenizerClass();
    if (!addBos && (kind.starts_with("Llama") || kind.starts_with("Gemma") || kind.starts_with("CodeLlama")))
        addBos = true;
    if (!data.pipeline) {
        data.addBos = addBos.value_or(data.addBos) && data.bos;
        data.addEos = addEos.value_or(data.addEos) && data.eos;
        return;
    }
    auto pipeline = std::make_shared<TextPipeline>(*data.pipeline);
    const auto set = [](std::vector<TokenId> &frame, const Id &id, std::optional<bool> wanted, bool inFront) {
        if (!wanted || !id)
            return;
        const auto found = std::find(frame.begin(), frame.end(), *id);
        if (*wanted && found == frame.end())
            frame.insert(inFront ? frame.begin() : frame.end(), *id);
        else if (!*wanted && found != frame.end())
            frame.erase(found);
    };
    set(pipeline->front, data.bos, addBos, true);
    set(pipeline->back, data.eos, addEos, false);
    data.addBos = !pipeline->front.empty();
    data.addEos = !pipeline->back.empty();
    data.pipeline = std::move(pipeline);
}

void FolderSettings::apply(VocabularyData &data) const
{
    applyToken(data, data.bos, "bos_token", "bos_token_id");
    applyToken(data, data.eos, "eos_token", "eos_token_id");
    applyToken(data, data.unknown, "unk_token", "unk_token_id");
    applyToken(data, data.padding, "pad_token", "pad_token_id");
    applyEndOfTurn(data);
    applyFrame(data);
}

} // namespace tokenloupe
