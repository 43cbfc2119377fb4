// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"
#include "engine/cache/prefixindex.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace tokenloupe {

/// What a cache keeps of an open sequence: token t lies in block t / blockTokens of each table, slot
/// t % blockTokens.
struct KvSequence
{
    static constexpr std::uint32_t allPure = std::numeric_limits<std::uint32_t>::max();

    SequenceId id;
    RunId run;
    std::vector<TokenId> tokens;
    BlockTables tables;
    std::uint32_t written = 0;   ///< of the tokens: those whose rows were computed
    std::uint32_t hitTokens = 0; ///< of the tokens: found ready by the last adopt or fork
    /// Logical block from which on what the index has of it was put there by this sequence.
    std::uint32_t firstIndexed = allPure;
    /// Tokens before the place where blocks were dropped: what follows was computed with a prefix that the
    /// tokens no longer show.
    std::uint32_t pureTokens = allPure;
};

} // namespace tokenloupe
