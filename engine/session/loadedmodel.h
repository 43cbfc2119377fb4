// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/progress.h"
#include "engine/base/result.h"
#include "engine/chat/chattemplate.h"
#include "engine/model/model.h"
#include "engine/tokenizer/prompttokens.h"
#include "engine/tokenizer/tokenizer.h"

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace tokenloupe {

/// A model with everything that a conversation needs. Immutable, shared.
struct LoadedModel
{
    std::shared_ptr<const Model> model;
    std::shared_ptr<const Tokenizer> tokenizer;
    std::shared_ptr<const ChatTemplate>
        chat; ///< null: the file has none, or it does not parse (see warnings)
    std::vector<std::string> warnings;
    ModelLoadOptions options; ///< that it was loaded with
    double loadMs = 0.0;

    const ModelConfig &config() const { return model->config(); }
};

Result<std::shared_ptr<const LoadedModel>> loadModel(const std::filesystem::path &path,
                                                     Progress *progress = nullptr, std::stop_token stop = {},
                                                     const ModelLoadOptions &options = {});

/// Messages through the model's own template; a model without one gets the contents joined by blank lines.
/// BOS is added when the model wants it and the template did not already write it. Control tokens are read as
/// such only where the template wrote them.
Result<PromptTokens> chatPrompt(const LoadedModel &model, const nlohmann::ordered_json &messages,
                                GenerationPrompt generationPrompt = GenerationPrompt::Add);
/// Plain text, BOS as the model wants. A prompt that would hold no token at all (empty text, and a model that
/// adds none) starts from BOS, or from EOS where there is no BOS.
Result<PromptTokens> rawPrompt(const LoadedModel &model, std::string_view text,
                               SpecialTokens special = SpecialTokens::AsText);

} // namespace tokenloupe
