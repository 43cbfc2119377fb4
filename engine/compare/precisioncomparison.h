// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compare/positioncomparison.h"
#include "engine/session/session.h"

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace tokenloupe {

/// What a comparison takes while it runs, beside what is there already. It is given back at the end.
struct ComparisonMemory
{
    std::uint64_t weightBytes = 0; ///< the form of the weights that the other precision reads
    std::uint64_t runBytes = 0;    ///< cache, activations and logits of its sessions

    std::uint64_t total() const { return weightBytes + runBytes; }
};

/// One text in both precisions, from nothing: in sessions of its own, so that those that are open are not
/// touched. Weights are shared with them where they have the same form. Nothing ever leaves its context: it
/// is as long as the text. On one thread, which is the one of the sessions.
class PrecisionComparison
{
public:
    /// `arithmetic`: of the run that is looked at; types of the cache are the same in both precisions.
    /// `loaded`: the precision whose form of the weights is in memory anyway.
    PrecisionComparison(std::shared_ptr<const LoadedModel> model, const RunArithmetic &arithmetic,
                        Precision loaded, int threads);

    /// The logits after the last of `tokens`. `kept`: its row in the run's own precision; where the CPU
    /// computed the run it is bit for bit what would come again and is taken, else, and where it is empty,
    /// both are computed: a device rounds otherwise, and that is not the precision's doing. Progress counts
    /// tokens of each pass.
    Result<PositionComparison> last(std::span<const TokenId> tokens, std::span<const float> kept = {},
                                    Progress *progress = nullptr, const std::stop_token &stop = {}) const;
    /// After every token: `take` gets position and comparison, in order.
    Status all(std::span<const TokenId> tokens,
               const std::function<void(std::uint32_t, PositionComparison)> &take,
               Progress *progress = nullptr, const std::stop_token &stop = {}) const;

    /// Of last() and all(): both passes go side by side in the latter only.
    Result<ComparisonMemory> memoryOfLast(std::size_t tokens, Precision computed) const;
    Result<ComparisonMemory> memoryOfAll(std::size_t tokens) const;

private:
    SessionSettings settings(std::size_t tokens, Precision precision) const;
    Result<std::vector<float>> lastRow(std::span<const TokenId> tokens, Precision precision,
                                       Progress *progress, const std::stop_token &stop) const;
    void giveBack() const;

    std::shared_ptr<const LoadedModel> m_model;
    RunArithmetic m_arithmetic;
    Precision m_loaded;
    int m_threads;
};

} // namespace tokenloupe
