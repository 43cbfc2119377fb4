// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"

#include <span>
#include <vector>

namespace tokenloupe {

struct Candidate
{
    TokenId id;
    float logit = 0.0F;
};

enum class CandidateOrder { Unsorted, DescendingLogit };

/// The tokens that are still alive, with their present logits. Removed tokens are not in the list.
/// DescendingLogit: by logit, equal logits by rising id.
struct Candidates
{
    std::vector<Candidate> items;
    CandidateOrder order = CandidateOrder::Unsorted;

    void assign(std::span<const float> logits); ///< the whole vocabulary; NaN becomes -inf
};

} // namespace tokenloupe
