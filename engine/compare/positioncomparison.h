// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compare/divergence.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tokenloupe {

/// One of the first candidates of either precision, as both see it.
struct ComparedCandidate
{
    TokenId id;
    float exactLogit = 0.0F, fastLogit = 0.0F;
    double exactP = 0.0, fastP = 0.0;          ///< softmax of the raw logits
    std::uint32_t exactRank = 0, fastRank = 0; ///< from 0
};

/// The tokens whose exact logits lie in one of the equal parts of the row's range.
struct DifferenceColumn
{
    float lowest = 0.0F, highest = 0.0F; ///< fast − exact, of a logit
    std::uint32_t tokens = 0;            ///< 0: none, and the other numbers mean nothing
};

/// The logits after one token of a text in both precisions: what a person wants to know of them. The rows
/// themselves are not kept, so that thousands of positions can be.
struct PositionComparison
{
    static constexpr std::uint32_t topTokens = 10;      ///< that the overlap looks at
    static constexpr std::uint32_t candidateCount = 24; ///< first ones of each precision
    static constexpr std::uint32_t columnCount = 512;

    Divergence divergence;                         ///< reference: exact
    std::uint32_t overlap = 0;                     ///< of the first `topTokens` of both
    std::vector<ComparedCandidate> candidates;     ///< first ones of either, by exact rank
    float lowestLogit = 0.0F, highestLogit = 0.0F; ///< exact, finite: what the columns divide
    std::vector<DifferenceColumn> columns;         ///< the whole vocabulary
};

Result<PositionComparison> comparePosition(std::span<const float> exact, std::span<const float> fast);

} // namespace tokenloupe
