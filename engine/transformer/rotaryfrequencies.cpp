// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/transformer/rotaryfrequencies.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace tokenloupe {

namespace {

/// The scaling formulas, in double. `d` is the number of rotated values, pair i turns by base^(-2i / d).
class Scaling
{
public:
    Scaling(const ModelConfig &config, std::uint32_t contextTokens)
        : m_config(config)
        , m_base(static_cast<double>(config.ropeBase))
        , m_dimensions(config.ropeDimensions)
        , m_factor(static_cast<double>(config.ropeScaleFactor))
        , m_context(contextTokens)
        , m_original(config.ropeDetails.originalContext > 0 ? config.ropeDetails.originalContext
                                                            : config.contextTrain)
    {}

    std::vector<double> frequencies(const ModelWeights &weights) const;
    double magnitude() const;

private:
    std::vector<double> plain(double base) const;
    /// The base with which the slowest pair turns 1 / factor as fast and the fastest as before.
    double stretchedBase(double factor) const
    {
        return m_base * std::pow(factor, m_dimensions / (m_dimensions - 2.0));
    }
    double dynamicFactor() const;
    std::vector<double> yarn() const;
    std::vector<double> llama3() const;

    const ModelConfig &m_config;
    double m_base;
    double m_dimensions;
    double m_factor;
    double m_context;
    double m_original;
};

std::vector<double> Scaling::plain(double base) const
{
    std::vector<double> frequencies(m_config.ropeDimensions / 2);
    for (std::size_t pair = 0; pair < frequencies.size(); ++pair) {
        const double exponent = -2.0 * static_cast<double>(pair) / m_dimensions;
        frequencies[pair] = std::pow(base, exponent);
    }
    return frequencies;
}

/// 1 up to the context that the model was trained for, from there in proportion to the length.
double Scaling::dynamicFactor() const
{
    const double length = std::max(m_context, m_original);
    return m_factor * length / m_original - (m_factor - 1.0);
}

/// Pairs that turn often over the original context stay as they are, those that turn seldom are stretched,
/// between them in proportion to the pair's number.
std::vector<double> Scaling::yarn() const
{
    const auto pairThatTurns = [this](double rotations) {
        return m_dimensions * std::log(m_original / (rotations * 2.0 * std::numbers::pi)) /
               (2.0 * std::log(m_base));
    };
    const RopeScalingDetails &details = m_config.ropeDetails;
    const double low = std::max(std::floor(pairThatTurns(static_cast<double>(details.betaFast))), 0.0);
    const double high =
        std::min(std::ceil(pairThatTurns(static_cast<double>(details.betaSlow))), m_dimensions - 1.0);
    std::vector<double> frequencies = plain(m_base);
    for (std::size_t pair = 0; pair < frequencies.size(); ++pair) {
        const double stretched =
            std::clamp((static_cast<double>(pair) - low) / std::max(high - low, 0.001), 0.0, 1.0);
        frequencies[pair] *= stretched / m_factor + (1.0 - stretched);
    }
    return frequencies;
}

/// By wavelength: short ones stay, long ones are stretched, between them a blend.
std::vector<double> Scaling::llama3() const
{
    const RopeScalingDetails &details = m_config.ropeDetails;
    const auto low = static_cast<double>(details.lowFrequencyFactor);
    const auto high = static_cast<double>(details.highFrequencyFactor);
    std::vector<double> frequencies = plain(m_base);
    for (double &frequency : frequencies) {
        const double turns = m_original * frequency / (2.0 * std::numbers::pi); // over the original context
        const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
        frequency *= kept + (1.0 - kept) / m_factor;
    }
    return frequencies;
}

void divideBy(std::vector<double> &frequencies, const Weight &factors)
{
    for (std::size_t pair = 0; factors.isPresent() && pair < frequencies.size(); ++pair) {
        float factor = 1.0F;
        std::memcpy(&factor, factors.data.data() + pair * sizeof(float), sizeof(float));
        frequencies[pair] /= static_cast<double>(factor);
    }
}

std::vector<double> Scaling::frequencies(const ModelWeights &weights) const
{
    const std::string &name = m_config.ropeScaling;
    std::vector<double> frequencies;
    if (name == "yarn") {
        frequencies = yarn();
    } else if (name == "llama3" && !weights.ropeFrequencyFactors.isPresent()) {
        frequencies = llama3();
    } else if (name == "ntk") {
        frequencies = plain(stretchedBase(m_factor));
    } else if (name == "dynamic") {
        frequencies = plain(stretchedBase(dynamicFactor()));
    } else {
        frequencies = plain(m_base);
    }
    if (name == "linear") {
        for (double &frequency : frequencies)
            frequency /= m_factor;
    }
    if (name == "longrope")
        divideBy(frequencies, m_context > m_original ? weights.ropeLongFactors : weights.ropeShortFactors);
    divideBy(frequencies, weights.ropeFrequencyFactors);
    return frequencies;
}

/// Attention over longer contexts is kept as sharp by larger queries and keys.
double Scaling::magnitude() const
{
    if (m_config.ropeDetails.attentionFactor)
        return static_cast<double>(*m_config.ropeDetails.attentionFactor);
    if (m_config.ropeScaling == "yarn")
        return m_factor > 1.0 ? 0.1 * std::log(m_factor) + 1.0 : 1.0;
    if (m_config.ropeScaling != "longrope")
        return 1.0;
    const double factor = m_config.contextTrain / m_original;
    return factor > 1.0 ? std::sqrt(1.0 + std::log(factor) / std::log(m_original)) : 1.0;
}

Status checkScaling(const ModelConfig &config)
{
    constexpr std::string_view known[] = {"none", "linear", "ntk", "dynamic", "yarn", "llama3", "longrope"};
    if (std::find(std::begin(known), std::end(known), config.ropeScaling) == std::end(known))
        return makeError(ErrorCode::Unsupported, "rotary scaling",
                         "\"" + config.ropeScaling +
                             "\" is not one of none, linear, ntk, dynamic, yarn, llama3, longrope");
    const auto factor = static_cast<double>(config.ropeScaleFactor);
    if (!std::isfinite(factor) || factor <= 0)
        return makeError(ErrorCode::BadFile, "rotary scaling",
                         "expected a positive factor, got " + std::to_string(factor));
    return {};
}

Status checkFactors(const Weight &factors, const char *name, std::size_t pairs)
{
    if (!factors.isPresent() ||
        (factors.type == TensorType::F32 && factors.data.size() >= pairs * sizeof(float)))
        return {};
    return makeError(ErrorCode::BadFile, name, "expected " + std::to_string(pairs) + " numbers of type F32");
}

} // namespace

Result<Rotary> rotary(const Model &model, RotaryScope scope, std::uint32_t contextTokens)
{
    ModelConfig config = model.config();
    if (scope == RotaryScope::Local) {
        config.ropeBase = config.localRopeBase;
        config.ropeScaling = "none";
        config.ropeDetails = {};
    }
    const ModelWeights &weights = model.weights();
    const std::size_t pairs = config.ropeDimensions / 2;
    const Status good =
        checkScaling(config)
            .and_then([&] { return checkFactors(weights.ropeFrequencyFactors, "rope_freqs", pairs); })
            .and_then([&] { return checkFactors(weights.ropeShortFactors, "rope_factors_short", pairs); })
            .and_then([&] { return checkFactors(weights.ropeLongFactors, "rope_factors_long", pairs); });
    if (!good)
        return tl::unexpected(good.error());

    const Scaling scaling(config, contextTokens);
    Rotary rotary;
    rotary.magnitude = static_cast<float>(scaling.magnitude());
    for (const double frequency : scaling.frequencies(weights)) {
        if (!std::isfinite(frequency))
            return makeError(ErrorCode::BadFile, "rotary frequencies",
                             "base " + std::to_string(config.ropeBase) +
                                 " and its factors give no finite number");
        rotary.inverseFrequencies.push_back(static_cast<float>(frequency));
    }
    if (!std::isfinite(rotary.magnitude))
        return makeError(ErrorCode::BadFile, "rotary scaling", "its formula gives no finite magnitude");
    return rotary;
}

bool rotaryDependsOnContext(const ModelConfig &config)
{
    return config.ropeScaling == "dynamic" || config.ropeScaling == "longrope";
}

} // namespace tokenloupe
