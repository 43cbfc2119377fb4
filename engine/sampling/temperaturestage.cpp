// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/stages.h"

#include <cmath>

namespace tokenloupe {

void applyTemperature(const TemperatureParams &params, CandidateSet &set)
{
    const float temperature = params.temperature;
    if (temperature == 1.0F || std::isnan(temperature))
        return;
    // A temperature so small that the best logit leaves the range of float: the limit, which is greedy.
    if (temperature <= 0.0F || !std::isfinite(set.maximum() / temperature)) {
        set.keep({set.best()});
        return;
    }
    set.divideBy(temperature);
}

} // namespace tokenloupe
