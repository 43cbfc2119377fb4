// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/cachesnapshot.h"
#include "widgets/controls/blockmappaint.h"

#include <QString>
#include <optional>

namespace tokenloupe {

struct Run;

/// What is looked at in a pool.
struct PoolFocus
{
    RunId run;
    std::optional<std::uint32_t> position; ///< of the selected step's token in the run's sequence
    bool operator==(const PoolFocus &) const = default;
};

/// The open sequence of the run; null when it has none (any more).
const CacheSequence *sequenceOf(const CacheSnapshot &snapshot, RunId run);

/// The pool's blocks as a map shows them. A block that gave its content up within the last few passes is
/// still marked; whose a block is, is marked when several sequences are open.
std::vector<Block> poolBlocks(const CacheSnapshot &snapshot, std::size_t pool, const PoolFocus &focus);

QString poolTitle(const CacheSnapshot &snapshot, std::size_t pool);   ///< "Window 512 · 25 layers"
QString poolSummary(const CacheSnapshot &snapshot, std::size_t pool); ///< "6 of 32 · 1 shared"
/// "block 12: in use · positions 192 to 207 · shared by 2 · written 3 passes ago"
QString blockText(const CacheSnapshot &snapshot, std::size_t pool, std::size_t block);

/// Where the step's token lies in the sequence after all that the overflow policy dropped since; nothing when
/// it was dropped itself.
std::optional<std::uint32_t> positionOf(const Run &run, StepIndex step);
/// The first generated token in a block, as its step; step 0 for a block of prompt tokens only; nothing for
/// an empty block and for one whose tokens the run did not bring.
std::optional<StepIndex> firstStepIn(const Run &run, const CacheBlock &block);

} // namespace tokenloupe
