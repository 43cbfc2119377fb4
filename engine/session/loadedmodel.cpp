// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/loadedmodel.h"

#include "engine/model/modelloader.h"

#include <chrono>
#include <future>

namespace tokenloupe {

namespace {

std::string tokenText(const Tokenizer &tokenizer, const std::optional<TokenId> &id)
{
    if (!id || id->value() >= tokenizer.size())
        return {};
    return std::string(tokenizer.bytes(*id));
}

/// BOS as the model wants, unless the text already begins with it; something to start from when there is
/// nothing.
void completePrompt(const Tokenizer &tokenizer, PromptTokens &prompt)
{
    const VocabularyData &data = tokenizer.data();
    const bool hasBos = data.bos && data.bos->value() < tokenizer.size();
    const bool written = !prompt.tokens.empty() && hasBos && prompt.tokens.front().id == *data.bos;
    if (hasBos && data.addBos && !written)
        prompt.tokens.insert(prompt.tokens.begin(), EncodedToken{*data.bos, {}});
    if (!prompt.tokens.empty())
        return;
    if (hasBos)
        prompt.tokens.push_back({*data.bos, {}});
    else if (data.eos && data.eos->value() < tokenizer.size())
        prompt.tokens.push_back({*data.eos, {}});
}

/// What a person reads of a message's content: the text itself, or the text parts of a list.
std::string contentText(const nlohmann::ordered_json &content)
{
    if (content.is_string())
        return content.get<std::string>();
    std::string text;
    if (content.is_array()) {
        for (const auto &part : content) {
            if (part.is_object() && part.contains("text") && part.at("text").is_string())
                text += part.at("text").get<std::string>();
        }
    }
    return text;
}

Status checkMessages(const nlohmann::ordered_json &messages)
{
    if (!messages.is_array())
        return makeError(ErrorCode::InvalidArgument, "messages",
                         "a list of {\"role\", \"content\"} is expected");
    std::size_t index = 0;
    for (const auto &message : messages) {
        if (!message.is_object() || !message.contains("role") || !message.at("role").is_string())
            return makeError(ErrorCode::InvalidArgument, "message " + std::to_string(index),
                             "an object with a text \"role\" is expected");
        ++index;
    }
    return {};
}

PromptTokens joined(const nlohmann::ordered_json &messages)
{
    PromptTokens prompt;
    for (const auto &message : messages) {
        if (!message.contains("content"))
            continue;
        if (!prompt.text.empty())
            prompt.text += "\n\n";
        prompt.text += contentText(message.at("content"));
    }
    return prompt;
}

} // namespace

Result<std::shared_ptr<const LoadedModel>> loadModel(const std::filesystem::path &path, Progress *progress,
                                                     std::stop_token stop, const ModelLoadOptions &options)
{
    const auto start = std::chrono::steady_clock::now();
    auto container = openModelContainer(path);
    if (!container)
        return tl::unexpected(container.error());
    ModelLoader loader(std::move(*container), path, options);
    if (Status good = loader.describe(); !good)
        return tl::unexpected(good.error());
    // The tables of the tokenizer are built while the weights come in; in turn where there is no thread to be
    // had.
    std::future<Result<std::shared_ptr<const Tokenizer>>> tables =
        std::async(std::launch::async | std::launch::deferred,
                   [vocabulary = loader.vocabulary()] { return makeTokenizer(vocabulary); });
    auto model = loader.load(progress, stop);
    if (!model)
        return tl::unexpected(model.error());
    auto tokenizer = tables.get();
    if (!tokenizer)
        return tl::unexpected(tokenizer.error());
    if (stop.stop_requested())
        return makeError(ErrorCode::Cancelled, "load " + path.filename().string(), "cancelled");

    auto loaded = std::make_shared<LoadedModel>();
    loaded->model = std::move(*model);
    loaded->tokenizer = std::move(*tokenizer);
    loaded->warnings = loaded->model->warnings();
    loaded->options = options;
    if (!loaded->tokenizer->recognised())
        loaded->warnings.push_back(
            "the pre-tokenizer \"" + loaded->model->vocabulary().pre +
            "\" is not known; text may be split differently from how the model learned it");
    if (const std::string &source = loaded->model->chatTemplate(); !source.empty()) {
        auto chat = ChatTemplate::parse(source);
        if (chat)
            loaded->chat = std::move(*chat);
        else
            loaded->warnings.push_back("the chat template cannot be used (" + chat.error().text() +
                                       "); messages are joined by blank lines instead");
    }
    loaded->loadMs =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return loaded;
}

Result<PromptTokens> chatPrompt(const LoadedModel &model, const nlohmann::ordered_json &messages,
                                GenerationPrompt generationPrompt)
{
    if (Status checked = checkMessages(messages); !checked)
        return tl::unexpected(checked.error());
    const Tokenizer &tokenizer = *model.tokenizer;
    PromptTokens prompt;
    RenderedPrompt rendered;
    EncodeOptions options;
    if (model.chat) {
        RenderOptions render;
        render.generationPrompt = generationPrompt;
        render.bosToken = tokenText(tokenizer, tokenizer.data().bos);
        render.eosToken = tokenText(tokenizer, tokenizer.data().eos);
        auto result = model.chat->render(messages, render);
        if (!result)
            return tl::unexpected(result.error());
        rendered = std::move(*result);
        prompt.text = rendered.text;
        options.special = SpecialTokens::Parse;
        options.literal = rendered.literal;
    } else {
        prompt = joined(messages);
    }
    auto tokens = tokenizer.encode(prompt.text, options);
    if (!tokens)
        return tl::unexpected(tokens.error());
    prompt.tokens = std::move(*tokens);
    completePrompt(tokenizer, prompt);
    return prompt;
}

Result<PromptTokens> rawPrompt(const LoadedModel &model, std::string_view text, SpecialTokens special)
{
    EncodeOptions options;
    options.special = special;
    auto tokens = model.tokenizer->encode(text, options);
    if (!tokens)
        return tl::unexpected(tokens.error());
    PromptTokens prompt{std::string(text), std::move(*tokens)};
    completePrompt(*model.tokenizer, prompt);
    return prompt;
}

} // namespace tokenloupe
