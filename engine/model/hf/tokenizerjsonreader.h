// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/model/hf/tokenizerjsonevents.h"
#include "engine/model/textpipeline.h"
#include "engine/model/vocabularydata.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tokenloupe {

/// Makes a vocabulary of a tokenizer.json. Which tokens begin and end texts and turns is only known from the
/// files beside it.
class TokenizerJsonReader
{
public:
    /// `name` of the file, for messages; `warnings` may be null.
    TokenizerJsonReader(std::string name, std::vector<std::string> *warnings)
        : m_name(std::move(name))
        , m_warnings(warnings)
    {}

    Result<VocabularyData> read(std::string_view text);
    /// From its parts: the long lists, and all the rest as a tree.
    Result<VocabularyData> read(TokenizerJsonEvents &lists, const nlohmann::json &tree);

private:
    Status readModel(const nlohmann::json &model);
    Status makeRoom(const nlohmann::json &added);
    Status readTokens();
    Status readAddedTokens(const nlohmann::json &list);
    Status readAddedToken(const nlohmann::json &token);
    Status readMerges();
    Status readUnknown(const nlohmann::json &model);
    Status readPostProcessor(const nlohmann::json &component);
    Status readTemplate(const nlohmann::json &component);
    Status readTemplateToken(const nlohmann::json &component, const std::string &name,
                             std::vector<TokenId> &out);
    Result<TokenId> tokenOf(const std::string &text, const std::string &field) const;
    void markBytes();
    void warnOfHoles();

    tl::unexpected<Error> bad(const std::string &message) const
    {
        return makeError(ErrorCode::BadFile, "read " + m_name, message);
    }
    tl::unexpected<Error> unsupported(const std::string &message) const
    {
        return makeError(ErrorCode::Unsupported, "read " + m_name, message);
    }
    void warn(const std::string &message)
    {
        if (m_warnings)
            m_warnings->push_back(m_name + ": " + message);
    }

    std::string m_name;
    std::vector<std::string> *m_warnings;
    TokenizerJsonEvents *m_lists = nullptr;
    VocabularyData m_data;
    TextPipeline m_pipeline;
    std::unordered_map<std::string_view, std::uint32_t> m_ids; // views of m_data.texts
};

} // namespace tokenloupe
