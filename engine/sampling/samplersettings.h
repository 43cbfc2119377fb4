// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/base/strongindex.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tokenloupe {

/// Formulas, ranges and off values: llama.cpp's, as the field knows them.
struct LogitBiasParams
{
    std::vector<std::pair<TokenId, float>> biases; ///< l += bias; -inf bans the token
    bool operator==(const LogitBiasParams &) const = default;
};
/// For tokens that occur c > 0 times in the last `lastN` tokens (prompt included): l = l > 0 ? l / repeat :
/// l · repeat, once; then l -= c · frequency + presence. lastN 0: off; -1: the whole context.
struct PenaltiesParams
{
    std::int32_t lastN = 64;
    float repeat = 1.0F;
    float presence = 0.0F;
    float frequency = 0.0F;
    bool operator==(const PenaltiesParams &) const = default;
};
struct TopKParams ///< exactly k largest stay (ties: lower id first); k ≤ 0: off
{
    std::int32_t k = 40;
    bool operator==(const TopKParams &) const = default;
};
struct TopPParams ///< shortest prefix of the descending order with Σp ≥ p, at least one; p ≥ 1: off
{
    float p = 0.95F;
    bool operator==(const TopPParams &) const = default;
};
struct MinPParams ///< keeps p_i ≥ p · p_max; p ≤ 0: off
{
    float p = 0.05F;
    bool operator==(const MinPParams &) const = default;
};
struct TemperatureParams ///< l /= temperature; ≤ 0: only the first maximum stays (greedy); 1: identity
{
    float temperature = 0.8F;
    bool operator==(const TemperatureParams &) const = default;
};

using StageParams =
    std::variant<LogitBiasParams, PenaltiesParams, TopKParams, TopPParams, MinPParams, TemperatureParams>;

/// Kinds in the order of StageParams' alternatives.
enum class StageKind : std::uint8_t { LogitBias, Penalties, TopK, TopP, MinP, Temperature };
inline constexpr std::size_t stageKindCount = std::variant_size_v<StageParams>;

/// Family of a stage: fixes its colour in the window.
enum class StageFamily : std::uint8_t { Raw, Penalties, CountCut, MassCut, Temperature, Draw };

enum class StageSwitch : bool { Off, On };

struct StageSettings
{
    StageParams params;
    StageSwitch state = StageSwitch::On;

    StageKind kind() const { return static_cast<StageKind>(params.index()); }
    /// Switched on, and its parameters are not the off value: it can change something.
    bool isActive() const;
    bool operator==(const StageSettings &) const = default;
};

std::string_view stageName(StageKind kind);  ///< "top_k": the name in JSON, options and removed_by
std::string_view stageTitle(StageKind kind); ///< "Top-k"
StageFamily stageFamily(StageKind kind);
/// "top_k", "top-k", "topk"; also llama.cpp's short forms ("temp", "nucleus"). InvalidArgument otherwise.
Result<StageKind> stageKindOf(std::string_view name);
std::string stageSummary(const StageSettings &stage); ///< "k = 40", "repeat 1.10 · last 64", "off"
std::string stageLabel(const StageSettings &stage);   ///< "top-k 40", "temp 0.70", "penalties"
Status validateStage(const StageSettings &stage);     ///< ranges, finite values

/// A chain as data: stages in the order they run, and the seed of the draw. Shared as an immutable value.
struct SamplerSettings
{
    std::vector<StageSettings> stages;
    std::uint64_t seed = 0;

    /// logit bias, penalties, top-k 40, top-p 0.95, min-p 0.05, temperature 0.8.
    static SamplerSettings defaults();
    const StageSettings *find(StageKind kind) const;
    StageSettings *find(StageKind kind);
    bool operator==(const SamplerSettings &) const = default;
};

} // namespace tokenloupe
