// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/chatturns.h"

namespace tokenloupe {

namespace {

bool isUser(const nlohmann::ordered_json &message)
{
    const auto role = message.is_object() ? message.find("role") : message.end();
    return message.is_object() && role != message.end() && *role == "user";
}

} // namespace

nlohmann::ordered_json withoutOldestTurns(const nlohmann::ordered_json &messages, std::uint32_t turns)
{
    auto kept = nlohmann::ordered_json::array();
    if (!messages.is_array())
        return kept;
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (isUser(messages[i]))
            starts.push_back(i);
    }
    if (turns >= starts.size())
        return kept;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (i < starts.front() || i >= starts[turns])
            kept.push_back(messages[i]);
    }
    return kept;
}

PromptWithoutTurns chatWithoutTurns(std::shared_ptr<const LoadedModel> model, nlohmann::ordered_json messages)
{
    return [model = std::move(model),
            messages = std::move(messages)](std::uint32_t turns) -> Result<std::vector<TokenId>> {
        const nlohmann::ordered_json fewer = withoutOldestTurns(messages, turns);
        if (fewer.empty())
            return std::vector<TokenId>();
        return chatPrompt(*model, fewer).map([](const PromptTokens &prompt) { return prompt.ids(); });
    };
}

} // namespace tokenloupe
