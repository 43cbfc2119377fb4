// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/chattemplate.h"

#include "engine/base/utf8.h"
#include "engine/chat/jinja/calendar.h"
#include "engine/chat/jinja/evaluator.h"
#include "engine/chat/jinja/failure.h"
#include "engine/chat/jinja/meter.h"
#include "engine/chat/jinja/parser.h"
#include "engine/chat/jinja/variables.h"

#include <new>

namespace tokenloupe {

namespace {

using nlohmann::ordered_json;

constexpr std::string_view parseOperation = "read the chat template";
constexpr std::string_view renderOperation = "render the chat template";
constexpr std::size_t longestMessage = 400;

/// One line for people, whatever a template puts into it.
std::string shortened(std::string message)
{
    if (message.size() > longestMessage)
        message = message.substr(0, longestMessage) + "…";
    message = sanitizedUtf8(message);
    for (char &c : message) {
        if (c == '\n' || c == '\r')
            c = ' ';
    }
    return message;
}

tl::unexpected<Error> errorOf(const jinja::Failure &failure, std::string_view operation, std::uint32_t line)
{
    if (failure.code == ErrorCode::TemplateRaised)
        return makeError(failure.code, {}, failure.message);
    const std::string place = line > 0 ? "line " + std::to_string(line) + ": " : "";
    return makeError(failure.code, std::string(operation), shortened(place + failure.message));
}

/// Later ones win.
using Variables = std::vector<std::pair<std::string, jinja::Value>>;

Variables standardVariables(const RenderOptions &options)
{
    return {{"add_generation_prompt", options.generationPrompt == GenerationPrompt::Add},
            {"bos_token", jinja::makeText(options.bosToken)},
            {"eos_token", jinja::makeText(options.eosToken)}};
}

void addVariables(jinja::Meter &meter, Variables &variables, const ordered_json &json)
{
    if (json.is_null())
        return;
    if (!json.is_object())
        jinja::fail("the variables are no JSON object");
    for (const auto &[name, value] : json.items())
        variables.emplace_back(name, jinja::valueOfJson(meter, value));
}

} // namespace

struct ChatTemplate::Program
{
    TemplateLimits limits;
    jinja::Program code;

    /// `addOwn` puts in the variables between the standard ones and those of the options.
    template <class AddOwn>
    Result<RenderedPrompt> run(const RenderOptions &options, AddOwn addOwn) const;
};

template <class AddOwn>
Result<RenderedPrompt> ChatTemplate::Program::run(const RenderOptions &options, AddOwn addOwn) const
{
    jinja::Calendar now = jinja::localCalendar();
    if (!options.now.empty()) {
        Result<jinja::Calendar> given = jinja::parseCalendar(options.now);
        if (!given)
            return tl::unexpected(given.error());
        now = *given;
    }
    Variables variables;
    try {
        // The size of the input is the caller's doing and takes no steps from the template.
        TemplateLimits inputLimits = limits;
        inputLimits.steps = static_cast<std::size_t>(-1);
        jinja::Meter meter(inputLimits);
        variables = standardVariables(options);
        addOwn(meter, variables);
        addVariables(meter, variables, options.variables);
    } catch (const jinja::Failure &failure) {
        return errorOf(failure, renderOperation, 0);
    } catch (const std::bad_alloc &) {
        return makeError(ErrorCode::OutOfMemory, std::string(renderOperation));
    }
    jinja::Meter meter(limits);
    jinja::Evaluator evaluator(code, meter, now);
    try {
        for (auto &[name, value] : variables)
            evaluator.define(name, std::move(value));
        const jinja::TextPtr text = evaluator.run();
        return RenderedPrompt{text->bytes, text->input};
    } catch (const jinja::Failure &failure) {
        return errorOf(failure, renderOperation, evaluator.line());
    } catch (const std::bad_alloc &) {
        return makeError(ErrorCode::OutOfMemory, std::string(renderOperation));
    }
}

ordered_json toJson(const std::vector<ChatMessage> &messages)
{
    ordered_json list = ordered_json::array();
    for (const ChatMessage &message : messages)
        list.push_back({{"role", message.role}, {"content", message.content}});
    return list;
}

ChatTemplate::ChatTemplate() = default;
ChatTemplate::~ChatTemplate() = default;

Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::parse(std::string source, TemplateLimits limits)
{
    try {
        struct Constructible : ChatTemplate
        {
            Constructible() = default; // make_shared does not reach the private one
        };
        const std::shared_ptr<ChatTemplate> result = std::make_shared<Constructible>();
        result->m_source = std::move(source);
        result->m_program = std::make_unique<Program>();
        result->m_program->limits = limits;
        jinja::Meter meter(limits);
        jinja::Parser::parse(result->m_source, meter, result->m_program->code);
        return result;
    } catch (const jinja::Failure &failure) {
        return errorOf(failure, parseOperation, 0);
    } catch (const std::bad_alloc &) {
        return makeError(ErrorCode::OutOfMemory, std::string(parseOperation));
    }
}

Result<RenderedPrompt> ChatTemplate::render(const ordered_json &messages, const RenderOptions &options) const
{
    return m_program->run(options, [&messages](jinja::Meter &meter, Variables &variables) {
        variables.emplace_back("messages", jinja::valueOfJson(meter, messages));
    });
}

Result<RenderedPrompt> ChatTemplate::renderVariables(const ordered_json &variables,
                                                     const RenderOptions &options) const
{
    return m_program->run(
        options, [&variables](jinja::Meter &meter, Variables &own) { addVariables(meter, own, variables); });
}

} // namespace tokenloupe
