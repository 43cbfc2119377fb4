// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/samplersettings.h"

#include <array>
#include <string>

namespace tokenloupe {

namespace {

struct StageNames
{
    std::string_view name;
    std::string_view title;
    StageFamily family;
};

constexpr std::array<StageNames, stageKindCount> stageNames = {{
    {"logit_bias", "Logit bias", StageFamily::Penalties},
    {"penalties", "Penalties", StageFamily::Penalties},
    {"top_k", "Top-k", StageFamily::CountCut},
    {"top_p", "Top-p", StageFamily::MassCut},
    {"min_p", "Min-p", StageFamily::MassCut},
    {"temperature", "Temperature", StageFamily::Temperature},
}};

const StageNames &namesOf(StageKind kind)
{
    return stageNames[static_cast<std::size_t>(kind)];
}

/// Lower case, without '_', '-' and spaces: what all spellings of a name have in common.
std::string plainName(std::string_view name)
{
    std::string result;
    for (const char c : name) {
        if (c == '_' || c == '-' || c == ' ')
            continue;
        result.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    }
    return result;
}

} // namespace

std::string_view stageName(StageKind kind)
{
    return namesOf(kind).name;
}

std::string_view stageTitle(StageKind kind)
{
    return namesOf(kind).title;
}

StageFamily stageFamily(StageKind kind)
{
    return namesOf(kind).family;
}

Result<StageKind> stageKindOf(std::string_view name)
{
    const std::string plain = plainName(name);
    for (std::size_t i = 0; i < stageNames.size(); ++i) {
        if (plainName(stageNames[i].name) == plain)
            return static_cast<StageKind>(i);
    }
    if (plain == "temp")
        return StageKind::Temperature;
    if (plain == "nucleus")
        return StageKind::TopP;

    std::string known;
    for (const StageNames &names : stageNames)
        known += (known.empty() ? "" : ", ") + std::string(names.name);
    return makeError(ErrorCode::InvalidArgument, "sampler stage",
                     "there is no '" + std::string(name) + "', expected one of " + known);
}

} // namespace tokenloupe
