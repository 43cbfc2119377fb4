// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/model/vocabularydata.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tokenloupe {

/// What the small files of a Hugging Face folder say about its vocabulary: tokenizer_config.json,
/// special_tokens_map.json, added_tokens.json, generation_config.json and config.json, as far as they are
/// there.
class FolderSettings
{
public:
    /// `warnings` may be null.
    static Result<FolderSettings> read(const std::filesystem::path &folder,
                                       std::vector<std::string> *warnings);

    struct Added
    {
        std::string text;
        TokenKind kind = TokenKind::UserDefined;
    };
    /// Tokens besides the vocabulary's, by id.
    std::map<std::uint64_t, Added> addedTokens() const;
    /// Texts of the beginning, end, unknown and padding tokens, as far as they are named.
    std::vector<std::string> specialTexts() const;
    /// More tokens behind those of a vocabulary that came without them (not from a tokenizer.json).
    Status addTokens(VocabularyData &data) const;
    /// Which tokens begin and end texts and turns, and whether the model wants them.
    void apply(VocabularyData &data) const;

    std::string tokenizerClass() const;
    const nlohmann::json &tokenizerConfig() const { return m_tokenizer; }

private:
    FolderSettings() = default;

    using Id = std::optional<TokenId>;
    /// Text of "bos_token" and the like; `known`: whether some file says anything, be it null.
    std::string specialText(const char *key, bool &known) const;
    void applyToken(VocabularyData &data, Id &id, const char *key, const char *idKey) const;
    void applyEndOfTurn(VocabularyData &data) const;
    void applyFrame(VocabularyData &data) const;
    void warn(const std::string &message) const
    {
        if (m_warnings)
            m_warnings->push_back(message);
    }

    nlohmann::json m_tokenizer, m_specials, m_added, m_generation, m_model;
    std::vector<std::string> *m_warnings = nullptr;
};

} // namespace tokenloupe
