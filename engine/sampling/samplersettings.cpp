// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/samplersettings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tokenloupe {

namespace {

std::string numberText(double value)
{
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), static_cast<float>(value)).ptr;
    return {buffer, end};
}

tl::unexpected<Error> outOfRange(StageKind kind, std::string_view parameter, std::string_view expected,
                                 double got)
{
    return makeError(ErrorCode::InvalidArgument, std::string(stageTitle(kind)),
                     std::string(parameter) + " must be " + std::string(expected) + ", got " +
                         numberText(got));
}

struct IsActive
{
    bool operator()(const LogitBiasParams &params) const { return !params.biases.empty(); }
    bool operator()(const PenaltiesParams &params) const
    {
        return params.lastN != 0 &&
               (params.repeat != 1.0F || params.presence != 0.0F || params.frequency != 0.0F);
    }
    bool operator()(const TopKParams &params) const { return params.k > 0; }
    bool operator()(const TopPParams &params) const { return params.p < 1.0F; }
    bool operator()(const MinPParams &params) const { return params.p > 0.0F; }
    bool operator()(const TemperatureParams &params) const
    {
        return params.temperature != 1.0F && !std::isnan(params.temperature);
    }
};

/// Not NaN, from 0 to 1.
bool isShare(float value)
{
    return value >= 0.0F && value <= 1.0F;
}

struct Validate
{
    Status operator()(const LogitBiasParams &params) const
    {
        for (const auto &[id, bias] : params.biases) {
            if (!id.isValid())
                return makeError(ErrorCode::InvalidArgument, "Logit bias", "a bias names no token");
            if (std::isnan(bias) || (std::isinf(bias) && bias > 0.0F))
                return outOfRange(StageKind::LogitBias, "the bias of token " + std::to_string(id.value()),
                                  "a finite number or -inf", bias);
        }
        return {};
    }
    Status operator()(const PenaltiesParams &params) const
    {
        if (params.lastN < -1)
            return outOfRange(StageKind::Penalties, "last n", "-1 (whole context), 0 (off) or more",
                              params.lastN);
        if (!std::isfinite(params.repeat) || params.repeat <= 0.0F)
            return outOfRange(StageKind::Penalties, "repeat", "a finite number above 0", params.repeat);
        if (!std::isfinite(params.presence))
            return outOfRange(StageKind::Penalties, "presence", "a finite number", params.presence);
        if (!std::isfinite(params.frequency))
            return outOfRange(StageKind::Penalties, "frequency", "a finite number", params.frequency);
        return {};
    }
    Status operator()(const TopKParams &) const { return {}; }
    Status operator()(const TopPParams &params) const
    {
        if (!isShare(params.p))
            return outOfRange(StageKind::TopP, "p", "from 0 to 1", params.p);
        return {};
    }
    Status operator()(const MinPParams &params) const
    {
        if (!isShare(params.p))
            return outOfRange(StageKind::MinP, "p", "from 0 to 1", params.p);
        return {};
    }
    Status operator()(const TemperatureParams &params) const
    {
        if (!std::isfinite(params.temperature) || params.temperature < 0.0F)
            return outOfRange(StageKind::Temperature, "temperature", "0 or more", params.temperature);
        return {};
    }
};

} // namespace

bool StageSettings::isActive() const
{
    return state == StageSwitch::On && std::visit(IsActive(), params);
}

Status validateStage(const StageSettings &stage)
{
    return std::visit(Validate(), stage.params);
}

SamplerSettings SamplerSettings::defaults()
{
    SamplerSettings settings;
    settings.stages = {
        {LogitBiasParams()}, {PenaltiesParams()}, {TopKParams()},
        {TopPParams()},      {MinPParams()},      {TemperatureParams()},
    };
    return settings;
}

const StageSettings *SamplerSettings::find(StageKind kind) const
{
    const auto at = std::find_if(stages.begin(), stages.end(),
                                 [kind](const StageSettings &stage) { return stage.kind() == kind; });
    return at == stages.end() ? nullptr : &*at;
}

StageSettings *SamplerSettings::find(StageKind kind)
{
    return const_cast<StageSettings *>(std::as_const(*this).find(kind));
}

} // namespace tokenloupe
