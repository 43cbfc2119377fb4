// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/samplestep.h"

#include <cmath>
#include <limits>
#include <set>

namespace tokenloupe::cli {

namespace {

/// The parameters of one step, read by name; what nobody read is unknown.
class Parameters
{
public:
    explicit Parameters(const Json &step)
        : m_step(step)
    {}

    /// Missing parameters take `fallback`; without one that is an error.
    float real(const char *key, std::optional<float> fallback = {})
    {
        const Json *value = find(key, fallback.has_value());
        if (!value)
            return fallback.value_or(0.0F);
        if (!value->is_number())
            return bad(key, "a number is expected");
        return value->get<float>();
    }
    std::int32_t integer(const char *key, std::optional<std::int32_t> fallback = {})
    {
        const Json *value = find(key, fallback.has_value());
        if (!value)
            return fallback.value_or(0);
        const double wide = value->is_number() ? value->get<double>() : std::nan("");
        if (!(std::abs(wide) <= std::numeric_limits<std::int32_t>::max()) || wide != std::floor(wide))
            return bad(key, "an integer is expected"), 0;
        return static_cast<std::int32_t>(wide);
    }
    std::size_t count(const char *key, std::int32_t fallback)
    {
        const std::int32_t value = integer(key, fallback);
        if (value < 0)
            bad(key, "0 or more is expected");
        return value < 0 ? 0 : static_cast<std::size_t>(value);
    }
    bool flag(const char *key)
    {
        const Json *value = find(key, true);
        if (!value)
            return false;
        if (!value->is_boolean())
            return bad(key, "true or false is expected") != 0.0F;
        return value->get<bool>();
    }

    /// The first thing that was wrong, unknown parameters included.
    Status status(const std::string &sampler)
    {
        for (const auto &[key, value] : m_step.items()) {
            if (m_problem.empty() && key != "sampler" && m_read.count(key) == 0)
                m_problem = "unknown parameter \"" + key + "\"";
        }
        if (m_problem.empty())
            return {};
        return makeError(ErrorCode::InvalidArgument, sampler, m_problem);
    }

private:
    const Json *find(const char *key, bool optional)
    {
        m_read.insert(key);
        if (m_step.contains(key))
            return &m_step[key];
        if (!optional)
            bad(key, "is missing");
        return nullptr;
    }
    float bad(const char *key, const char *problem)
    {
        if (m_problem.empty())
            m_problem = std::string(key) + ": " + problem;
        return 0.0F;
    }

    const Json &m_step;
    std::set<std::string> m_read;
    std::string m_problem;
};

/// Other engines' name for penalties with repeat alone, over the whole history.
constexpr std::string_view repetitionPenalty = "repetition_penalty";

std::optional<StageParams> stageParams(StageKind kind, Parameters &parameters)
{
    switch (kind) {
    case StageKind::TopK:
        return TopKParams{parameters.integer("k")};
    case StageKind::TopP:
        return TopPParams{parameters.real("p")};
    case StageKind::MinP:
        return MinPParams{parameters.real("p")};
    case StageKind::Temperature:
        return TemperatureParams{parameters.real("temperature")};
    case StageKind::Penalties: {
        PenaltiesParams params;
        params.lastN = parameters.integer("last_n", params.lastN);
        params.repeat = parameters.real("repeat", 1.0F);
        params.presence = parameters.real("presence", 0.0F);
        params.frequency = parameters.real("frequency", 0.0F);
        parameters.integer("context_size", 0); // -1 means the whole history, which is never longer
        return params;
    }
    case StageKind::LogitBias:
        break;
    }
    return std::nullopt;
}

Result<SampleStep> parseStep(const Json &json)
{
    if (!json.is_object() || !json.contains("sampler") || !json["sampler"].is_string())
        return makeError(ErrorCode::InvalidArgument, "step", "an object with \"sampler\" is expected");
    SampleStep step;
    step.name = json["sampler"].get<std::string>();
    Parameters parameters(json);
    if (step.name == "softmax" || step.name == "log_softmax") {
        step.logSoftmaxFirst = step.name == "log_softmax";
    } else if (step.name == repetitionPenalty) {
        step.stage = StageSettings{PenaltiesParams{-1, parameters.real("penalty"), 0.0F, 0.0F}};
        step.skipHistory = parameters.count("ignore_first_n_history", 0);
        step.logSoftmaxFirst = parameters.flag("on_log_softmax");
    } else {
        const auto kind = stageKindOf(step.name);
        // The cases' names are exact: the short forms of options are not theirs.
        auto params = kind && stageName(*kind) == step.name ? stageParams(*kind, parameters) : std::nullopt;
        if (!params)
            return makeError(ErrorCode::InvalidArgument, step.name, "there is no such sampler");
        step.stage = StageSettings{std::move(*params)};
        if (*kind != StageKind::Penalties)
            step.minKeep = parameters.count("min_keep", 1);
    }
    if (Status read = parameters.status(step.name); !read)
        return tl::unexpected(read.error());
    if (step.stage) {
        if (Status valid = validateStage(*step.stage); !valid)
            return tl::unexpected(valid.error());
    }
    return step;
}

} // namespace

Result<std::vector<SampleStep>> parseSampleSteps(const Json &steps)
{
    if (!steps.is_array())
        return makeError(ErrorCode::InvalidArgument, "steps", "a list is expected");
    std::vector<SampleStep> out;
    for (const Json &json : steps) {
        auto step = parseStep(json);
        if (!step)
            return tl::unexpected(step.error());
        out.push_back(std::move(*step));
    }
    return out;
}

} // namespace tokenloupe::cli
