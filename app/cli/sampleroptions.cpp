// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/sampleroptions.h"

#include <CLI/CLI.hpp>
#include <charconv>

namespace tokenloupe::cli {

namespace {

Result<std::pair<TokenId, float>> parseBias(const std::string &text)
{
    const auto wrong = [&] {
        return makeError(ErrorCode::InvalidArgument, "--logit-bias",
                         "\"" + text + "\" is not ID+VALUE or ID-VALUE (15-inf bans token 15)");
    };
    const char *end = text.data() + text.size();
    std::uint32_t id = 0;
    const auto afterId = std::from_chars(text.data(), end, id);
    if (afterId.ec != std::errc() || afterId.ptr == end || (*afterId.ptr != '+' && *afterId.ptr != '-') ||
        id == TokenId::invalidValue)
        return wrong();
    // from_chars reads a minus sign but no plus sign.
    const char *number = *afterId.ptr == '+' ? afterId.ptr + 1 : afterId.ptr;
    float value = 0.0F;
    const auto afterValue = std::from_chars(number, end, value);
    if (afterValue.ec != std::errc() || afterValue.ptr != end || value != value)
        return wrong();
    return std::pair(TokenId(id), value);
}

std::vector<std::string> splitNames(const std::string &text)
{
    std::vector<std::string> names(1);
    for (char c : text) {
        if (c == ';' || c == ',')
            names.emplace_back();
        else if (c != ' ')
            names.back() += c;
    }
    std::erase(names, std::string());
    return names;
}

template <class Params>
Params &params(SamplerSettings &settings, StageKind kind)
{
    StageSettings *stage = settings.find(kind);
    if (!stage) {
        settings.stages.insert(settings.stages.begin(), StageSettings{Params{}});
        stage = &settings.stages.front();
    }
    return std::get<Params>(stage->params);
}

} // namespace

void SamplerOptions::addTo(CLI::App &command)
{
    const char *group = "Sampling";
    command.add_option("--temp", temperature, "Temperature; 0 takes the most likely token")
        ->capture_default_str()
        ->group(group);
    command.add_option("--top-k", topK, "Keep the K most likely; 0: all")
        ->capture_default_str()
        ->group(group);
    command.add_option("--top-p", topP, "Keep the most likely whose probabilities reach P; 1: all")
        ->capture_default_str()
        ->group(group);
    command.add_option("--min-p", minP, "Keep what has P times the highest probability; 0: all")
        ->capture_default_str()
        ->group(group);
    command.add_option("--repeat-penalty", repeatPenalty, "Divide logits of recent tokens by this; 1: off")
        ->capture_default_str()
        ->group(group);
    command
        .add_option("--repeat-last-n", repeatLastN, "Recent tokens that count; 0: off, -1: the whole context")
        ->capture_default_str()
        ->group(group);
    command.add_option("--presence-penalty", presencePenalty, "Subtracted once from recent tokens")
        ->capture_default_str()
        ->group(group);
    command.add_option("--frequency-penalty", frequencyPenalty, "Subtracted for each recent occurrence")
        ->capture_default_str()
        ->group(group);
    command
        .add_option("--logit-bias", logitBias, "ID+VALUE or ID-VALUE; ID-inf bans the token; may be repeated")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->delimiter(',')
        ->group(group);
    command.add_option("--samplers", samplers, "Stages in the order they run, separated by ; or ,")
        ->group(group);
}

Result<SamplerSettings> SamplerOptions::settings() const
{
    SamplerSettings settings = SamplerSettings::defaults();
    params<TemperatureParams>(settings, StageKind::Temperature).temperature = temperature;
    params<TopKParams>(settings, StageKind::TopK).k = topK;
    params<TopPParams>(settings, StageKind::TopP).p = topP;
    params<MinPParams>(settings, StageKind::MinP).p = minP;
    params<PenaltiesParams>(settings, StageKind::Penalties) = {repeatLastN, repeatPenalty, presencePenalty,
                                                               frequencyPenalty};
    auto &biases = params<LogitBiasParams>(settings, StageKind::LogitBias).biases;
    for (const std::string &text : logitBias) {
        auto bias = parseBias(text);
        if (!bias)
            return tl::unexpected(bias.error());
        biases.push_back(*bias);
    }
    if (samplers) {
        std::vector<StageSettings> ordered;
        for (const std::string &name : splitNames(*samplers)) {
            auto kind = stageKindOf(name);
            if (!kind)
                return makeError(ErrorCode::InvalidArgument, "--samplers", kind.error().text());
            ordered.push_back(*settings.find(*kind));
        }
        // A bias that was given holds wherever the stages go, as in other programs: first, unless it is
        // named.
        const StageSettings bias = *settings.find(StageKind::LogitBias);
        settings.stages = std::move(ordered);
        if (!logitBias.empty() && !settings.find(StageKind::LogitBias))
            settings.stages.insert(settings.stages.begin(), bias);
    }
    for (const StageSettings &stage : settings.stages) {
        if (Status valid = validateStage(stage); !valid)
            return tl::unexpected(valid.error());
    }
    return settings;
}

} // namespace tokenloupe::cli
