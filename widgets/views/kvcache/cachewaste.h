// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/cachesnapshot.h"

#include <QString>
#include <cmath>
#include <vector>

namespace tokenloupe {

/// What a request asked for: what an allocator without blocks would have to reserve.
struct ReservedTokens
{
    std::uint32_t prompt = 0;
    std::uint32_t most = 0;         ///< tokens that the reply may have; 0: no limit
    std::uint32_t droppedTurns = 0; ///< left out of the prompt already
};

/// One contiguous stretch a layer and sequence for so many tokens; layers with a window hold no more than it.
std::uint64_t contiguousBytes(const KvShape &shape, std::uint64_t tokens);

/// A line of the account.
struct WasteRow
{
    QString name;
    QString amount;              ///< with its unit
    double share = std::nan(""); ///< of `whole`; NaN: there is nothing to compare with
    QString whole;               ///< "of the pool"
    QString explanation;
};

std::vector<WasteRow> wasteRows(const CacheSnapshot &snapshot, const ReservedTokens &reserved);

} // namespace tokenloupe
