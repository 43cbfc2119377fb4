// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/stages.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tokenloupe {

std::span<const TokenId> penaltyWindow(std::span<const TokenId> history, std::int32_t lastN)
{
    if (lastN < 0)
        return history;
    return history.last(std::min(history.size(), static_cast<std::size_t>(lastN)));
}

std::vector<TokenCount> countTokens(std::span<const TokenId> window, std::size_t vocabulary)
{
    std::vector<TokenId> sorted;
    sorted.reserve(window.size());
    std::copy_if(window.begin(), window.end(), std::back_inserter(sorted),
                 [vocabulary](TokenId id) { return id.value() < vocabulary; });
    std::sort(sorted.begin(), sorted.end());
    std::vector<TokenCount> counts;
    for (const TokenId id : sorted) {
        if (counts.empty() || counts.back().id != id)
            counts.push_back({id, 0});
        ++counts.back().count;
    }
    return counts;
}

void applyPenalties(const PenaltiesParams &params, std::span<const TokenId> history, CandidateSet &set)
{
    const std::vector<TokenCount> counts =
        countTokens(penaltyWindow(history, params.lastN), set.vocabulary());
    std::vector<TokenId> ids(counts.size());
    std::transform(counts.begin(), counts.end(), ids.begin(),
                   [](const TokenCount &entry) { return entry.id; });

    set.edit(ids, [&](TokenId id, float logit) {
        if (std::isinf(logit))
            return logit;
        const auto entry = std::lower_bound(counts.begin(), counts.end(), id,
                                            [](const TokenCount &a, TokenId b) { return a.id < b; });
        // In double, so that the order of the two steps costs no precision; repeat 1 and 0, 0 give the same
        // bits.
        const double value = logit;
        const double repeat = params.repeat;
        const double repeated = value > 0.0 ? value / repeat : value * repeat;
        const double penalised = repeated - entry->count * static_cast<double>(params.frequency) -
                                 static_cast<double>(params.presence);
        if (std::isnan(penalised))
            return logit;
        // A penalty lowers a token but never bans it: what leaves the range of float stays at its end.
        constexpr double largest = std::numeric_limits<float>::max();
        return static_cast<float>(std::clamp(penalised, -largest, largest));
    });
}

} // namespace tokenloupe
