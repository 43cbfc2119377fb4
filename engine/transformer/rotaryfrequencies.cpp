// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/transformer/rotaryfrequencies.h"

#include <cmath>
#include <cstring>

namespace tokenloupe {

namespace {

/// By how much positions are stretched: 1 without scaling. "llama3" is in the file's frequency factors.
Result<double> positionStretch(const ModelConfig &config)
{
    if (config.ropeScaling == "none" || config.ropeScaling == "llama3")
        return 1.0;
    if (config.ropeScaling != "linear")
        return makeError(ErrorCode::Unsupported, "rotary scaling",
                         "\"" + config.ropeScaling + "\" is not one of none, linear, llama3");
    const double factor = static_cast<double>(config.ropeScaleFactor);
    if (!std::isfinite(factor) || factor <= 0)
        return makeError(ErrorCode::BadFile, "rotary scaling",
                         "expected a positive factor, got " + std::to_string(factor));
    return factor;
}

} // namespace

Result<std::vector<float>> rotaryFrequencies(const Model &model)
{
    const ModelConfig &config = model.config();
    const Result<double> stretch = positionStretch(config);
    if (!stretch)
        return tl::unexpected(stretch.error());
    const std::size_t pairs = config.ropeDimensions / 2;
    const Weight &factors = model.weights().ropeFrequencyFactors;
    if (factors.isPresent() &&
        (factors.type != TensorType::F32 || factors.data.size() < pairs * sizeof(float)))
        return makeError(ErrorCode::BadFile, "rope_freqs.weight",
                         "expected " + std::to_string(pairs) + " numbers of type F32");

    std::vector<float> frequencies(pairs);
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        const double exponent = -2.0 * static_cast<double>(pair) / config.ropeDimensions;
        double frequency = std::pow(static_cast<double>(config.ropeBase), exponent) / *stretch;
        if (factors.isPresent()) {
            float factor = 1.0F;
            std::memcpy(&factor, factors.data.data() + pair * sizeof(float), sizeof(float));
            frequency /= static_cast<double>(factor);
        }
        if (!std::isfinite(frequency))
            return makeError(ErrorCode::BadFile, "rotary frequencies",
                             "base " + std::to_string(config.ropeBase) +
                                 " and its factors give no finite number");
        frequencies[pair] = static_cast<float>(frequency);
    }
    return frequencies;
}

} // namespace tokenloupe
