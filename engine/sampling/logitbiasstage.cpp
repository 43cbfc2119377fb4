// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/stages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tokenloupe {

Status applyLogitBias(const LogitBiasParams &params, CandidateSet &set)
{
    std::map<TokenId, double> sums; // one token may be named more than once
    for (const auto &[id, bias] : params.biases) {
        if (id.isValid() && id.value() < set.vocabulary())
            sums[id] += static_cast<double>(bias);
    }
    std::vector<TokenId> ids;
    ids.reserve(sums.size());
    for (const auto &[id, bias] : sums)
        ids.push_back(id);

    set.edit(ids, [&sums](TokenId id, float logit) {
        const double biased = static_cast<double>(logit) + sums.at(id);
        if (std::isnan(biased))
            return logit;
        if (std::isinf(biased) && biased < 0.0)
            return -std::numeric_limits<float>::infinity();
        constexpr double largest = std::numeric_limits<float>::max();
        return static_cast<float>(std::clamp(biased, -largest, largest));
    });
    return set.check();
}

} // namespace tokenloupe
