// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/candidates.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace tokenloupe {

void Candidates::assign(std::span<const float> logits)
{
    items.resize(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const float logit = std::isnan(logits[i]) ? -std::numeric_limits<float>::infinity() : logits[i];
        items[i] = Candidate{TokenId(static_cast<std::uint32_t>(i)), logit};
    }
    order = CandidateOrder::Unsorted;
}

} // namespace tokenloupe
