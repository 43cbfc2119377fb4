// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/cachesnapshot.h"
#include "widgets/plots/steplineplot.h"

#include <QPointF>
#include <vector>

namespace tokenloupe {

struct Run;

// The growth of a cache as a curve: MiB over the tokens that the model has read. What left the context still
// counts at the x axis, so that the curve falls where tokens were dropped.

/// Tokens read when the step was drawn.
double growthX(const Run &run, std::size_t step);
QPointF growthPoint(const Run &run, std::size_t step);
/// The blocks that the prompt took one after the other, up to what the first step found.
std::vector<QPointF> promptStairs(const Run &run, const KvShape &shape);
/// Where tokens were dropped; neighbouring steps that dropped some are one place.
std::vector<LabelledPoint> growthDips(const Run &run);
/// Bytes by formula, in MiB: every group of layers grows to its window, all to the context.
std::vector<LinearTerm> growthFormula(const KvShape &shape, std::uint32_t contextTokens);
/// Tokens of one sequence that the pool has room for; 0: windows bound them all, the pool never ends.
std::uint64_t budgetTokens(const CacheSnapshot &snapshot);

} // namespace tokenloupe
