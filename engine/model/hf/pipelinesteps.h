// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/model/textpipeline.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tokenloupe {

/// The pattern by which GPT-2 cuts text into words.
extern const char *const gpt2WordPattern;

/// Components of a tokenizer.json as steps. Kinds and settings that are not known are refused by name;
/// `name` is the file's for messages.
class PipelineSteps
{
public:
    explicit PipelineSteps(std::string name)
        : m_operation("read " + std::move(name))
    {}

    Status readNormalizer(const nlohmann::json &json, TextPipeline &pipeline);
    Status readPreTokenizer(const nlohmann::json &json, TextPipeline &pipeline);
    Status readDecoder(const nlohmann::json &json, TextPipeline &pipeline);

private:
    Status readMetaspace(const nlohmann::json &json, TextPipeline &pipeline);
    Status readByteLevel(const nlohmann::json &json, TextPipeline &pipeline);
    Status readSplit(const nlohmann::json &json, TextPipeline &pipeline);
    Status readStripDecoder(const nlohmann::json &json, TextPipeline &pipeline);
    Result<TextPattern> readPattern(const nlohmann::json &json, const char *field) const;
    Result<SplitStep::Behaviour> readBehaviour(const nlohmann::json &json) const;
    tl::unexpected<Error> bad(const std::string &message) const
    {
        return makeError(ErrorCode::BadFile, m_operation, message);
    }
    tl::unexpected<Error> unsupported(const std::string &message) const
    {
        return makeError(ErrorCode::Unsupported, m_operation, message);
    }

    std::string m_operation;
};

} // namespace tokenloupe
