// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/trace/stepexplanation.h"

#include <cmath>
#include <memory>
#include <stdexcept>
#include <vector>

namespace tokenloupe::test {

/// A step over a small vocabulary, explained by the engine itself.
struct SmallStep
{
    std::vector<float> logits;
    std::vector<StageSettings> stages;
    std::vector<TokenId> history = {};
    TokenId chosen = {}; ///< invalid: what the chain draws
    std::uint32_t top = 64;
};

inline std::shared_ptr<const StepExplanation> explained(const SmallStep &step)
{
    auto settings = std::make_shared<SamplerSettings>();
    settings->stages = step.stages;
    settings->seed = 11;
    ExplainRequest request;
    request.ref = {RunId(0), StepIndex(0)};
    request.logits = step.logits;
    request.history = step.history;
    request.settings = settings;
    request.chosen = step.chosen;
    request.top = step.top;
    auto result = explainStep(request);
    if (!result)
        throw std::logic_error(result.error().text());
    return std::make_shared<const StepExplanation>(std::move(*result));
}

/// exp(l) / Σ exp(l), of the logits that are listed.
inline double plainSoftmax(const std::vector<double> &logits, std::size_t index)
{
    double sum = 0.0;
    for (const double logit : logits)
        sum += std::exp(logit);
    return std::exp(logits[index]) / sum;
}

} // namespace tokenloupe::test
