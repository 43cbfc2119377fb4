// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/compare/divergence.h"
#include "engine/sampling/candidates.h"
#include "engine/trace/logitstore.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tokenloupe::cli {

/// What `score` tells of n tokens.
struct Scores
{
    std::vector<TokenId> ids;
    std::vector<double> nll;       ///< n - 1: of token i + 1 after tokens 0 … i, natural logarithm
    std::vector<TokenId> argmax;   ///< n: after token i
    std::vector<double> logSumExp; ///< n
    std::vector<std::vector<Candidate>> top; ///< n lists, best first
    std::vector<double> kl;   ///< n: KL(reference ‖ this) after token i; empty without a reference
    DivergenceTotals against; ///< of the reference

    double meanNll() const;
};

/// Turns rows of logits, in order of position, into scores. The first thing that goes wrong is kept for
/// finish().
class Scorer
{
public:
    Scorer(std::vector<TokenId> ids, std::uint32_t top, std::shared_ptr<const LogitStore> reference);

    void take(std::uint32_t position, std::span<const float> row);
    Result<Scores> finish();

private:
    Status add(std::uint32_t position, std::span<const float> row);
    Status compare(std::uint32_t position, std::span<const float> row);

    Scores m_scores;
    std::uint32_t m_top = 0;
    std::shared_ptr<const LogitStore> m_reference;
    std::vector<Candidate> m_order;
    std::optional<Error> m_error;
};

} // namespace tokenloupe::cli
