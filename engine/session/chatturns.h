// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/loadedmodel.h"
#include "engine/session/overflow.h"

#include <cstdint>

namespace tokenloupe {

/// The messages without their oldest `turns` turns. A turn is a user's message with all that follows up to
/// the next one; the messages before the first (the system prompt) and the last turn always stay. Empty when
/// there are fewer turns to leave out.
nlohmann::ordered_json withoutOldestTurns(const nlohmann::ordered_json &messages, std::uint32_t turns);

/// For OverflowPolicy::DropTurns: what the model's template makes of fewer and fewer turns.
PromptWithoutTurns chatWithoutTurns(std::shared_ptr<const LoadedModel> model,
                                    nlohmann::ordered_json messages);

} // namespace tokenloupe
