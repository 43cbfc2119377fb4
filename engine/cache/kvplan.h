// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/kvshape.h"

#include <cstdint>
#include <vector>

namespace tokenloupe {

/// Paged: blocks are taken as a sequence grows, out of a pool of this size. Contiguous: every sequence owns
/// the room of a full context from the start.
enum class KvLayout : std::uint8_t { Paged, Contiguous };

struct KvPlanSettings
{
    std::uint64_t contextTokens = 0; ///< of one sequence
    std::uint64_t sequences = 1;     ///< that may be full at the same time
    std::uint64_t batchTokens = 1;   ///< most tokens of one forward call: windows keep room for them
    KvLayout layout = KvLayout::Paged;
};

struct KvLayerPlan
{
    std::uint64_t cells = 0; ///< tokens that there is room for, all sequences together
    std::uint64_t bytes = 0; ///< of keys and values
};

/// How much room the cache takes: the pool allocates exactly this, the estimator shows it.
struct KvPlan
{
    std::vector<KvLayerPlan> layers;
    std::uint64_t bytes = 0;
};

/// Cells of a layer: context · sequences, each context rounded up to whole blocks (paged). Where a window is
/// smaller than that: window · sequences + batch, rounded up to a multiple of 256, which keeps enough for a
/// whole batch to be written before what left the window is given back. Zero and absurd sizes (more than 63
/// bits of bytes) are InvalidArgument, and so are types that the head sizes do not allow.
Result<KvPlan> planKv(const KvShape &shape, const KvPlanSettings &settings);

} // namespace tokenloupe
