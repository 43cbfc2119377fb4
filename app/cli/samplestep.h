// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/terminal.h"
#include "engine/sampling/samplersettings.h"

#include <optional>
#include <string>
#include <vector>

namespace tokenloupe::cli {

/// One step of a case: a stage of the chain, and what other engines add to theirs.
struct SampleStep
{
    std::string name;                   ///< as the case wrote it
    std::optional<StageSettings> stage; ///< none: softmax, which changes nothing that is reported
    std::size_t minKeep = 1;
    std::size_t skipHistory = 0;  ///< oldest tokens that do not count
    bool logSoftmaxFirst = false; ///< the stage works on log-probabilities
};

/// Unknown samplers, unknown, missing and out-of-range parameters are InvalidArgument.
Result<std::vector<SampleStep>> parseSampleSteps(const Json &steps);

} // namespace tokenloupe::cli
