// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/samplesteps.h"

#include "engine/sampling/stages.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

namespace tokenloupe {

namespace {

using nlohmann::json;

/// Reads the parameters of one step. The first thing that is wrong is kept; everything after it is void.
class StepReader
{
public:
    StepReader(const json &step, std::string name)
        : m_step(step)
        , m_name(std::move(name))
    {}

    /// Refuses parameters that the sampler has not: a misspelt one would silently be the default.
    void allow(std::initializer_list<std::string_view> names)
    {
        for (const auto &item : m_step.items()) {
            if (item.key() != "sampler" && std::find(names.begin(), names.end(), item.key()) == names.end())
                fail("has no parameter '" + item.key() + "'");
        }
    }
    /// A finite number; without a fallback it must be there.
    float number(const char *key, std::optional<float> fallback = std::nullopt)
    {
        const auto value = m_step.find(key);
        if (value == m_step.end()) {
            if (!fallback)
                fail(std::string(key) + " is missing");
            return fallback.value_or(0.0F);
        }
        const double number = value->is_number() ? value->get<double>() : std::nan("");
        if (!std::isfinite(static_cast<float>(number)))
            fail(std::string(key) + " must be a finite number, got " + value->dump());
        return static_cast<float>(number);
    }
    std::int64_t integer(const char *key, std::optional<std::int64_t> fallback = std::nullopt)
    {
        const auto value = m_step.find(key);
        if (value == m_step.end()) {
            if (!fallback)
                fail(std::string(key) + " is missing");
            return fallback.value_or(0);
        }
        // 40.0 is as good as 40.
        const double number = value->is_number() ? value->get<double>() : std::nan("");
        if (number != std::floor(number) || std::abs(number) > static_cast<double>(1LL << 53)) {
            fail(std::string(key) + " must be a whole number, got " + value->dump());
            return 0;
        }
        return static_cast<std::int64_t>(number);
    }
    std::int32_t integer32(const char *key, std::optional<std::int64_t> fallback = std::nullopt)
    {
        constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
        return static_cast<std::int32_t>(std::clamp(integer(key, fallback), -largest, largest));
    }
    KeepAtLeast keepAtLeast()
    {
        const std::int64_t count = integer("min_keep", 1);
        require(count >= 0, "min_keep must be 0 or more");
        return {static_cast<std::size_t>(std::max<std::int64_t>(count, 1))};
    }
    void require(bool holds, std::string_view what) // NOLINT: the answer of a comparison, not a mode
    {
        if (!holds)
            fail(std::string(what));
    }
    void fail(std::string message)
    {
        if (m_status)
            m_status = makeError(ErrorCode::InvalidArgument, m_name, std::move(message));
    }
    const Status &status() const { return m_status; }
    const json &step() const { return m_step; }

private:
    const json &m_step;
    std::string m_name;
    Status m_status;
};

Status temperatureStep(StepReader &reader, CandidateSet &set)
{
    reader.allow({"temperature"});
    const float temperature = reader.number("temperature");
    reader.require(temperature >= 0.0F, "temperature must be 0 or more");
    if (reader.status())
        applyTemperature({temperature}, set);
    return reader.status();
}

Status topKStep(StepReader &reader, CandidateSet &set)
{
    reader.allow({"k", "min_keep"});
    const std::int32_t k = reader.integer32("k");
    const KeepAtLeast least = reader.keepAtLeast();
    if (reader.status())
        applyTopK({k}, least, set);
    return reader.status();
}

Status topPStep(StepReader &reader, CandidateSet &set)
{
    reader.allow({"p", "min_keep"});
    const float p = reader.number("p");
    reader.require(p >= 0.0F, "p must be 0 or more");
    const KeepAtLeast least = reader.keepAtLeast();
    if (reader.status())
        applyTopP({p}, least, set);
    return reader.status();
}

Status minPStep(StepReader &reader, CandidateSet &set)
{
    reader.allow({"p", "min_keep"});
    const float p = reader.number("p");
    reader.require(p >= 0.0F, "p must be 0 or more");
    const KeepAtLeast least = reader.keepAtLeast();
    if (reader.status())
        applyMinP({p}, least, set);
    return reader.status();
}

Status penaltiesStep(StepReader &reader, std::span<const TokenId> history, CandidateSet &set)
{
    reader.allow({"repeat", "presence", "frequency", "last_n", "context_size"});
    const PenaltiesParams defaults;
    PenaltiesParams params;
    params.lastN = reader.integer32("last_n", defaults.lastN);
    params.repeat = reader.number("repeat", defaults.repeat);
    params.presence = reader.number("presence", defaults.presence);
    params.frequency = reader.number("frequency", defaults.frequency);
    const std::int64_t context = reader.integer("context_size", std::numeric_limits<std::int32_t>::max());
    reader.require(context > 0, "context_size must be above 0");
    if (reader.status()) {
        if (const Status status = validateStage({params}); !status)
            reader.fail(status.error().message);
    }
    if (!reader.status())
        return reader.status();
    if (params.lastN < 0) // the whole context
        history = history.last(std::min(history.size(), static_cast<std::size_t>(context)));
    applyPenalties(params, history, set);
    return {};
}

/// The rule of Hugging Face: once for each distinct token of the history, whatever its age.
Status repetitionStep(StepReader &reader, std::span<const TokenId> history, CandidateSet &set)
{
    reader.allow({"penalty", "ignore_first_n_history", "on_log_softmax"});
    PenaltiesParams params;
    params.lastN = -1;
    params.repeat = reader.number("penalty");
    const std::int64_t ignored = reader.integer("ignore_first_n_history", 0);
    reader.require(params.repeat > 0.0F, "penalty must be above 0");
    reader.require(ignored >= 0, "ignore_first_n_history must be 0 or more");
    const auto onLogSoftmax = reader.step().find("on_log_softmax");
    const bool given = onLogSoftmax != reader.step().end();
    reader.require(!given || onLogSoftmax->is_boolean(), "on_log_softmax must be true or false");
    if (!reader.status())
        return reader.status();
    if (given && onLogSoftmax->get<bool>())
        set.subtract(set.sums().logSumExp());
    const std::size_t skip = std::min<std::size_t>(history.size(), static_cast<std::size_t>(ignored));
    applyPenalties(params, history.subspan(skip), set);
    return {};
}

Status logitBiasStep(StepReader &reader, CandidateSet &set)
{
    reader.allow({"biases"});
    const auto list = reader.step().find("biases");
    if (list == reader.step().end() || !list->is_object()) {
        reader.fail("biases must be an object of numbers by token id");
        return reader.status();
    }
    LogitBiasParams params;
    for (const auto &[key, value] : list->items()) {
        std::uint32_t id = 0;
        const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
        if (parsed.ec != std::errc() || parsed.ptr != key.data() + key.size() || id >= set.vocabulary()) {
            reader.fail("'" + key + "' is no token id below " + std::to_string(set.vocabulary()));
            break;
        }
        const bool bans = value.is_string() && value.get_ref<const std::string &>() == "-inf";
        if (!bans && !value.is_number()) {
            reader.fail("the bias of token " + key + " must be a number or \"-inf\", got " + value.dump());
            break;
        }
        params.biases.emplace_back(TokenId(id),
                                   bans ? -std::numeric_limits<float>::infinity() : value.get<float>());
    }
    return reader.status() ? applyLogitBias(params, set) : reader.status();
}

} // namespace

Status applySampleStep(const json &step, std::span<const TokenId> history, CandidateSet &set)
{
    if (!step.is_object() || !step.contains("sampler") || !step["sampler"].is_string())
        return makeError(ErrorCode::InvalidArgument, "steps", "expected objects with the name of a sampler");
    const auto &name = step["sampler"].get_ref<const std::string &>();
    StepReader reader(step, name);
    if (name == "temperature")
        return temperatureStep(reader, set);
    if (name == "top_k")
        return topKStep(reader, set);
    if (name == "top_p")
        return topPStep(reader, set);
    if (name == "min_p")
        return minPStep(reader, set);
    if (name == "penalties")
        return penaltiesStep(reader, history, set);
    if (name == "repetition_penalty")
        return repetitionStep(reader, history, set);
    if (name == "logit_bias")
        return logitBiasStep(reader, set);
    if (name == "softmax") { // probabilities are always those of the present logits: nothing to do
        reader.allow({});
        return reader.status();
    }
    return makeError(ErrorCode::InvalidArgument, "steps", "unknown sampler '" + name + "'");
}

} // namespace tokenloupe
