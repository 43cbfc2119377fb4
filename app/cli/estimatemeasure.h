// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/estimateoptions.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tokenloupe::cli {

/// What the process really held after the model was loaded, every page of the cache written and one step run.
/// The parts add up to "total", which is the resident set.
struct MeasuredMemory
{
    std::vector<std::pair<std::string, std::uint64_t>> parts;
    std::uint64_t total = 0;
};

Result<MeasuredMemory> measureEstimate(CommandSet &set, const EstimateOptions &options,
                                       const EstimateRequest &request);

} // namespace tokenloupe::cli
