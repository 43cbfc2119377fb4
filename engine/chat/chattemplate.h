// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/chat/templatelimits.h"
#include "engine/tokenizer/tokenizer.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tokenloupe {

struct ChatMessage
{
    std::string role; ///< "system", "user", "assistant", …
    std::string content;
    bool operator==(const ChatMessage &) const = default;
};

nlohmann::ordered_json toJson(const std::vector<ChatMessage> &messages);

enum class GenerationPrompt { Omit, Add };

struct RenderOptions
{
    GenerationPrompt generationPrompt = GenerationPrompt::Add;
    nlohmann::ordered_json variables =
        nlohmann::ordered_json::object(); ///< override everything of the same name
    std::string bosToken, eosToken;
    /// For strftime_now; empty: the local time. "2025-01-02 03:04:05"
    std::string now;
};

struct RenderedPrompt
{
    std::string text;
    /// Parts that came from the messages (and variables), not from the template: control tokens written there
    /// are plain text. Rising, not overlapping.
    std::vector<ByteRange> literal;
};

/// A chat template: Jinja as Hugging Face sets it up (trim_blocks, lstrip_blocks, loop controls, tojson
/// without escapes, raise_exception, strftime_now), interpreted in a sandbox that reaches nothing but its
/// variables. Immutable; render() may be called from any thread.
class ChatTemplate
{
public:
    ~ChatTemplate();
    /// TemplateError with line and what was expected.
    static Result<std::shared_ptr<const ChatTemplate>> parse(std::string source, TemplateLimits limits = {});

    /// `messages`: a JSON list as transformers takes it. TemplateRaised carries raise_exception's own text.
    Result<RenderedPrompt> render(const nlohmann::ordered_json &messages, const RenderOptions &options) const;
    /// Any template over any variables, no messages: for unit cases.
    Result<RenderedPrompt> renderVariables(const nlohmann::ordered_json &variables,
                                           const RenderOptions &options) const;

    const std::string &source() const { return m_source; }

private:
    struct Program;
    ChatTemplate();
    std::string m_source;
    std::unique_ptr<Program> m_program;
};

} // namespace tokenloupe
