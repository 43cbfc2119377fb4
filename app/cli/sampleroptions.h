// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/samplersettings.h"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tokenloupe::cli {

/// --temp --top-k --top-p --min-p --repeat-penalty --repeat-last-n --presence-penalty --frequency-penalty
/// --logit-bias --samplers
struct SamplerOptions
{
    float temperature = 0.8F;
    std::int32_t topK = 40;
    float topP = 0.95F;
    float minP = 0.05F;
    float repeatPenalty = 1.0F;
    std::int32_t repeatLastN = 64;
    float presencePenalty = 0.0F;
    float frequencyPenalty = 0.0F;
    std::vector<std::string> logitBias;  ///< "15-inf", "42+1.5"
    std::optional<std::string> samplers; ///< "top_k;temperature"

    void addTo(CLI::App &command);
    /// The chain, checked; InvalidArgument is wrong usage. The seed stays 0.
    Result<SamplerSettings> settings() const;
};

} // namespace tokenloupe::cli
