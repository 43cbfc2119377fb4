// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/benchparts.h"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace tokenloupe::cli {

/// What capturing one kind of intermediates costs a decoding step.
struct CaptureCost
{
    std::string captured;
    double plainUs = 0.0;      ///< median step without it
    double differenceUs = 0.0; ///< median of what the step with it took more than its neighbour without
    std::uint64_t bytes = 0;   ///< captured of the last step

    double share() const { return differenceUs / plainUs; }
};

/// Decodes the same tokens with and without capturing, in turns, for each kind. Captured numbers go into
/// memory that is there already. `settings` are complete, as a session reports them. InvalidLogits when
/// capturing changed a bit of the logits.
Result<std::vector<CaptureCost>> captureCosts(const std::shared_ptr<const Model> &model,
                                              const SessionSettings &settings, const BenchOptions &options,
                                              const std::stop_token &stop);

} // namespace tokenloupe::cli
