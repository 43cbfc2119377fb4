// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/addcommand.h"
#include "app/cli/inputs.h"
#include "app/cli/vocabularyinput.h"
#include "engine/base/utf8.h"
#include "engine/chat/chattemplate.h"
#include "engine/model/vocabularydata.h"

namespace tokenloupe::cli {

namespace {

struct RenderCommandOptions
{
    Format format = Format::Text;
    std::optional<std::string> model;
    std::optional<std::string> templateFile;
    std::optional<std::string> messages;
    std::optional<std::string> variables;
    std::optional<std::string> jsonl;
    bool noGenerationPrompt = false;
};

/// A template and the texts of the model's own BOS and EOS for it.
struct TemplateSource
{
    std::optional<std::string> text;
    std::string bosToken, eosToken;
};

std::string tokenText(const VocabularyData &data, const std::optional<TokenId> &id)
{
    return id && id->value() < data.texts.size() ? data.texts[id->value()] : std::string();
}

Result<TemplateSource> templateSource(const RenderCommandOptions &options)
{
    TemplateSource source;
    if (options.model) {
        auto text = readAnyChatTemplate(*options.model);
        if (!text)
            return tl::unexpected(text.error());
        if (!text->empty())
            source.text = std::move(*text);
        if (const auto data = readAnyVocabulary(*options.model, nullptr)) {
            source.bosToken = tokenText(*data, data->bos);
            source.eosToken = tokenText(*data, data->eos);
        }
    }
    if (options.templateFile) {
        auto text = readFile(*options.templateFile);
        if (!text)
            return tl::unexpected(text.error());
        source.text = std::move(*text);
    }
    return source;
}

Result<std::string> renderOnce(const ChatTemplate &chat, const Json &messages, const RenderOptions &options)
{
    auto rendered =
        messages.is_null() ? chat.renderVariables(Json::object(), options) : chat.render(messages, options);
    return rendered.map([](const RenderedPrompt &prompt) { return prompt.text; });
}

Result<Json> renderLine(const Json &line, const RenderOptions &defaults,
                        const std::shared_ptr<const ChatTemplate> &own)
{
    if (!line.is_object())
        return makeError(ErrorCode::InvalidArgument, "line", "an object with \"messages\" is expected");
    std::shared_ptr<const ChatTemplate> chat = own;
    if (line.contains("template") && !line["template"].is_null()) {
        if (!line["template"].is_string())
            return makeError(ErrorCode::InvalidArgument, "template", "a text is expected");
        auto parsed = ChatTemplate::parse(line["template"].get<std::string>());
        if (!parsed)
            return tl::unexpected(parsed.error());
        chat = *parsed;
    }
    if (!chat)
        return makeError(ErrorCode::InvalidArgument, "template", "the line has none and none was given");
    RenderOptions options = defaults;
    if (line.contains("vars")) {
        if (!line["vars"].is_object())
            return makeError(ErrorCode::InvalidArgument, "vars", "an object is expected");
        options.variables.update(line["vars"]);
    }
    if (line.contains("add_generation_prompt")) {
        if (!line["add_generation_prompt"].is_boolean())
            return makeError(ErrorCode::InvalidArgument, "add_generation_prompt",
                             "true or false is expected");
        options.generationPrompt =
            line["add_generation_prompt"].get<bool>() ? GenerationPrompt::Add : GenerationPrompt::Omit;
    }
    const Json messages = line.contains("messages") ? line["messages"] : Json();
    return renderOnce(*chat, messages, options).map([](const std::string &text) {
        return Json{{"prompt", text}};
    });
}

ExitStatus runRender(CommandSet &set, const RenderCommandOptions &options)
{
    Terminal &terminal = set.terminal;
    if (options.messages.has_value() == options.jsonl.has_value())
        return terminal.usage("render: give one of --messages, --jsonl");
    if (!options.jsonl && !options.model && !options.templateFile)
        return terminal.usage("render: give a MODEL or --template");
    RenderOptions render;
    render.generationPrompt = options.noGenerationPrompt ? GenerationPrompt::Omit : GenerationPrompt::Add;
    if (options.variables) {
        auto variables = parseJson(*options.variables, "--vars");
        if (!variables || !variables->is_object())
            return terminal.usage("render: --vars: a JSON object is expected");
        render.variables = std::move(*variables);
    }
    const auto source = templateSource(options);
    if (!source)
        return terminal.fail(source.error());
    render.bosToken = source->bosToken;
    render.eosToken = source->eosToken;
    if (!source->text && !options.jsonl)
        return terminal.fail(*options.model + ": the file holds no chat template");
    std::shared_ptr<const ChatTemplate> chat;
    if (source->text) {
        auto parsed = ChatTemplate::parse(*source->text);
        if (!parsed)
            return terminal.fail(parsed.error());
        chat = *parsed;
    }
    if (options.jsonl)
        return forEachJsonLine(terminal, *options.jsonl, LineErrors::AreResults,
                               [&](const Json &line) { return renderLine(line, render, chat); });

    const auto messages = readJsonFile(*options.messages);
    if (!messages)
        return terminal.fail(messages.error());
    if (!messages->is_array())
        return terminal.fail(*options.messages + ": a JSON list of messages is expected");
    const auto prompt = renderOnce(*chat, *messages, render);
    if (!prompt)
        return terminal.fail(prompt.error());
    if (options.format == Format::JsonLines)
        terminal.json({{"prompt", *prompt}});
    else
        terminal.text(*prompt);
    return terminal.end();
}

} // namespace

void addRender(CommandSet &set)
{
    auto options = std::make_shared<RenderCommandOptions>();
    CLI::App *command = addCommand(set, "render", "Messages through a chat template", options, runRender);
    command->add_option("model", options->model, "GGUF file or Hugging Face folder whose template is used");
    command->add_option("--template", options->templateFile, "A template of your own");
    command->add_option("--messages", options->messages,
                        "JSON list of {\"role\", \"content\"}; - is standard input");
    command->add_option(
        "--jsonl", options->jsonl,
        "{\"template\", \"messages\", \"vars\", \"add_generation_prompt\"} a line in, {\"prompt\"} "
        "or {\"error\"} a line out");
    command->add_option("--vars", options->variables, "JSON object: more variables, and those to replace");
    command->add_flag("--no-generation-prompt", options->noGenerationPrompt,
                      "Do not open the assistant's turn at the end");
}

} // namespace tokenloupe::cli
