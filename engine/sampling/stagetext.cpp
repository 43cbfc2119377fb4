// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/samplersettings.h"

#include <charconv>

namespace tokenloupe {

namespace {

/// The shortest text that means this float, with at least two decimals: 0.8 -> "0.80", 0.975 -> "0.975".
std::string decimals(float value)
{
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
    std::string text(buffer, end);
    if (text.find_first_of("en") != std::string::npos) // 1e-10, inf, nan
        return text;
    std::size_t point = text.find('.');
    if (point == std::string::npos) {
        point = text.size();
        text.push_back('.');
    }
    while (text.size() - point < 3)
        text.push_back('0');
    return text;
}

struct Summary
{
    std::string operator()(const LogitBiasParams &params) const
    {
        const std::size_t n = params.biases.size();
        return std::to_string(n) + (n == 1 ? " token" : " tokens");
    }
    std::string operator()(const PenaltiesParams &params) const
    {
        std::string text;
        const auto add = [&text](std::string_view part) {
            text += text.empty() ? "" : " · ";
            text += part;
        };
        if (params.repeat != 1.0F)
            add("repeat " + decimals(params.repeat));
        if (params.presence != 0.0F)
            add("presence " + decimals(params.presence));
        if (params.frequency != 0.0F)
            add("frequency " + decimals(params.frequency));
        add(params.lastN < 0 ? "whole context" : "last " + std::to_string(params.lastN));
        return text;
    }
    std::string operator()(const TopKParams &params) const { return "k = " + std::to_string(params.k); }
    std::string operator()(const TopPParams &params) const { return "p = " + decimals(params.p); }
    std::string operator()(const MinPParams &params) const { return "p = " + decimals(params.p); }
    std::string operator()(const TemperatureParams &params) const
    {
        return params.temperature <= 0.0F ? "greedy" : "T = " + decimals(params.temperature);
    }
};

struct Label
{
    std::string operator()(const LogitBiasParams &) const { return "logit bias"; }
    std::string operator()(const PenaltiesParams &) const { return "penalties"; }
    std::string operator()(const TopKParams &params) const { return "top-k " + std::to_string(params.k); }
    std::string operator()(const TopPParams &params) const { return "top-p " + decimals(params.p); }
    std::string operator()(const MinPParams &params) const { return "min-p " + decimals(params.p); }
    std::string operator()(const TemperatureParams &params) const
    {
        return "temp " + decimals(params.temperature);
    }
};

} // namespace

std::string stageSummary(const StageSettings &stage)
{
    return stage.isActive() ? std::visit(Summary(), stage.params) : "off";
}

std::string stageLabel(const StageSettings &stage)
{
    return std::visit(Label(), stage.params);
}

} // namespace tokenloupe
