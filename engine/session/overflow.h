// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/base/strongindex.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// What happens when a run needs more tokens than the context holds.
enum class OverflowPolicy : std::uint8_t {
    Stop,      ///< the run ends
    DropTurns, ///< the oldest turns of the conversation go, the system prompt stays; what is left is rendered
               ///< and computed anew (the system prompt's blocks are found in the cache)
    Streaming, ///< the first tokens ("attention sinks") and the most recent ones stay; the rest moves up, so
               ///< positions are those within the cache (Xiao et al., "Efficient Streaming Language Models
               ///< with Attention Sinks", 2023)
};
std::string_view overflowPolicyName(OverflowPolicy policy); ///< "stop", "drop-turns", "streaming"
Result<OverflowPolicy> overflowPolicyOf(std::string_view name);

/// The prompt with its oldest `turns` (≥ 1) turns left out; empty when there are none left to leave out.
using PromptWithoutTurns = std::function<Result<std::vector<TokenId>>(std::uint32_t turns)>;

} // namespace tokenloupe
