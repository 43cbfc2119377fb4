// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/progress.h"
#include "engine/model/quantizedweights.h"

#include <memory>
#include <stop_token>

namespace tokenloupe {

/// Quantises the weights of a model that is being loaded: makes the plan, converts, and swaps the views, so
/// that `weights` no longer shows the stored form of what was converted. Null when there is nothing to
/// convert. `warnings` gets what did not go as asked.
class LoadQuantizer
{
public:
    LoadQuantizer(const ModelConfig &config, ModelLoadOptions options)
        : m_config(config)
        , m_options(options)
    {}

    Result<std::shared_ptr<QuantizedWeights>> quantize(ModelWeights &weights,
                                                       std::vector<std::string> &warnings,
                                                       QuantizedWeights::ReleaseStored releaseStored,
                                                       Progress *progress, const std::stop_token &stop) const;

private:
    const ModelConfig &m_config;
    ModelLoadOptions m_options;
};

} // namespace tokenloupe
