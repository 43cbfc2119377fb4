// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compare/positioncomparison.h"

#include "engine/sampling/logitscan.h"
#include "engine/sampling/samplerchain.h"

#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

bool holds(std::span<const Candidate> list, TokenId id)
{
    return std::any_of(list.begin(), list.end(), [id](const Candidate &c) { return c.id == id; });
}

void addColumns(std::span<const float> exact, std::span<const float> fast, PositionComparison &result)
{
    float low = 0.0F;
    float high = 0.0F;
    bool any = false;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        if (!std::isfinite(exact[i]) || !std::isfinite(fast[i]))
            continue;
        low = any ? std::min(low, exact[i]) : exact[i];
        high = any ? std::max(high, exact[i]) : exact[i];
        any = true;
    }
    result.lowestLogit = low;
    result.highestLogit = high;
    result.columns.assign(PositionComparison::columnCount, {});
    const double width =
        (static_cast<double>(high) - static_cast<double>(low)) / PositionComparison::columnCount;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        if (!std::isfinite(exact[i]) || !std::isfinite(fast[i]))
            continue;
        const double place =
            width > 0.0 ? (static_cast<double>(exact[i]) - static_cast<double>(low)) / width : 0.0;
        DifferenceColumn &column = result.columns[std::min<std::size_t>(static_cast<std::size_t>(place),
                                                                        PositionComparison::columnCount - 1)];
        const float difference = fast[i] - exact[i];
        column.lowest = column.tokens > 0 ? std::min(column.lowest, difference) : difference;
        column.highest = column.tokens > 0 ? std::max(column.highest, difference) : difference;
        ++column.tokens;
    }
}

} // namespace

Result<PositionComparison> comparePosition(std::span<const float> exact, std::span<const float> fast)
{
    const auto divergence = divergenceOf(exact, fast);
    if (!divergence)
        return tl::unexpected(divergence.error());
    PositionComparison result;
    result.divergence = *divergence;
    const std::vector<Candidate> firstExact = selectTop(exact, PositionComparison::candidateCount);
    const std::vector<Candidate> firstFast = selectTop(fast, PositionComparison::candidateCount);
    const std::size_t top = std::min<std::size_t>(PositionComparison::topTokens, firstFast.size());
    const auto firstOfFast = std::span(firstFast).first(top);
    for (std::size_t i = 0; i < std::min(top, firstExact.size()); ++i)
        result.overlap += holds(firstOfFast, firstExact[i].id) ? 1 : 0;

    std::vector<TokenId> ids;
    for (const Candidate &candidate : firstExact)
        ids.push_back(candidate.id);
    for (const Candidate &candidate : firstFast) {
        if (!holds(firstExact, candidate.id))
            ids.push_back(candidate.id);
    }
    for (const TokenId id : ids) {
        ComparedCandidate candidate;
        candidate.id = id;
        candidate.exactLogit = exact[id.value()];
        candidate.fastLogit = fast[id.value()];
        candidate.exactP =
            std::exp(static_cast<double>(candidate.exactLogit) - divergence->referenceLogSumExp);
        candidate.fastP = std::exp(static_cast<double>(candidate.fastLogit) - divergence->otherLogSumExp);
        candidate.exactRank = rankOf(exact, id);
        candidate.fastRank = rankOf(fast, id);
        result.candidates.push_back(candidate);
    }
    std::sort(
        result.candidates.begin(), result.candidates.end(),
        [](const ComparedCandidate &a, const ComparedCandidate &b) { return a.exactRank < b.exactRank; });
    addColumns(exact, fast, result);
    return result;
}

} // namespace tokenloupe
