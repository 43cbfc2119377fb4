// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/samplecases.h"

#include "engine/sampling/samplesteps.h"
#include "engine/sampling/stagemeter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace tokenloupe {

namespace {

using nlohmann::json;

/// A number, or one of the strings for numbers that JSON has not.
Result<double> numberOf(const json &value)
{
    if (value.is_number())
        return value.get<double>();
    if (value.is_string()) {
        const auto &text = value.get_ref<const std::string &>();
        if (text == "nan")
            return std::numeric_limits<double>::quiet_NaN();
        if (text == "inf")
            return std::numeric_limits<double>::infinity();
        if (text == "-inf")
            return -std::numeric_limits<double>::infinity();
    }
    return makeError(ErrorCode::InvalidArgument, "input", "expected a number, got " + value.dump());
}

json jsonOf(float value)
{
    if (std::isnan(value))
        return "nan";
    if (std::isinf(value))
        return value > 0.0F ? "inf" : "-inf";
    return value;
}

Result<std::vector<float>> logitsOf(const json &sampleCase)
{
    const auto input = sampleCase.find("input");
    if (input == sampleCase.end() || !input->is_object())
        return makeError(ErrorCode::InvalidArgument, "input", "expected an object with logits or probs");
    const bool asProbabilities = input->contains("probs");
    if (asProbabilities == input->contains("logits"))
        return makeError(ErrorCode::InvalidArgument, "input", "expected one of logits and probs");
    const json &values = (*input)[asProbabilities ? "probs" : "logits"];
    if (!values.is_array() || values.empty())
        return makeError(ErrorCode::InvalidArgument, "input", "expected a list of numbers");
    std::vector<float> logits;
    logits.reserve(values.size());
    for (const json &value : values) {
        const Result<double> number = numberOf(value);
        if (!number)
            return tl::unexpected<Error>(number.error());
        if (asProbabilities && *number < 0.0)
            return makeError(ErrorCode::InvalidArgument, "input",
                             "a probability is negative: " + value.dump());
        // ln 0 = -inf: a token that cannot be drawn.
        logits.push_back(static_cast<float>(asProbabilities ? std::log(*number) : *number));
    }
    return logits;
}

Result<std::vector<TokenId>> historyOf(const json &sampleCase, std::size_t vocabulary)
{
    std::vector<TokenId> history;
    const auto ids = sampleCase.find("history");
    if (ids == sampleCase.end())
        return history;
    if (!ids->is_array())
        return makeError(ErrorCode::InvalidArgument, "history", "expected a list of token ids");
    for (const json &id : *ids) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= vocabulary)
            return makeError(ErrorCode::InvalidArgument, "history",
                             "expected token ids below " + std::to_string(vocabulary) + ", got " + id.dump());
        history.push_back(TokenId(id.get<std::uint32_t>()));
    }
    return history;
}

json survivorsJson(const Candidates &candidates, const StageMeter &meter, std::size_t vocabulary)
{
    json kept = json::array();
    json probabilities = json::object();
    std::vector<float> logits(vocabulary, -std::numeric_limits<float>::infinity());
    std::vector<TokenId> ids;
    for (const Candidate &candidate : candidates.items)
        ids.push_back(candidate.id);
    std::sort(ids.begin(), ids.end());
    TokenId argmax;
    for (const TokenId id : ids) {
        kept.push_back(id.value());
        probabilities[std::to_string(id.value())] = meter.probability(id);
        logits[id.value()] = meter.logit(id);
        if (!argmax.isValid() || meter.logit(id) > meter.logit(argmax))
            argmax = id;
    }
    json values = json::array();
    for (const float logit : logits)
        values.push_back(jsonOf(logit));
    return {{"kept", std::move(kept)},
            {"probs", std::move(probabilities)},
            {"logits", std::move(values)},
            {"argmax", argmax.value()}};
}

Result<json> runCase(const json &sampleCase)
{
    if (!sampleCase.is_object())
        return makeError(ErrorCode::InvalidArgument, "case", "expected an object");
    const Result<std::vector<float>> logits = logitsOf(sampleCase);
    if (!logits)
        return tl::unexpected<Error>(logits.error());
    const Result<std::vector<TokenId>> history = historyOf(sampleCase, logits->size());
    if (!history)
        return tl::unexpected<Error>(history.error());
    const auto steps = sampleCase.find("steps");
    if (steps == sampleCase.end() || !steps->is_array())
        return makeError(ErrorCode::InvalidArgument, "steps", "expected a list");

    Result<CandidateSet> set = CandidateSet::of(*logits);
    if (!set)
        return tl::unexpected<Error>(set.error());
    std::vector<float> numbers = *logits;
    std::replace_if(
        numbers.begin(), numbers.end(), [](float x) { return std::isnan(x); },
        -std::numeric_limits<float>::infinity());
    StageMeter meter(numbers);
    json stages = json::array();
    for (const json &step : *steps) {
        if (const Status status = applySampleStep(step, *history, *set); !status)
            return tl::unexpected<Error>(status.error());
        const StageMeasure measure = meter.measure(*set);
        stages.push_back(
            {{"name", step["sampler"]}, {"candidates", measure.candidates}, {"mass", measure.mass}});
    }
    Candidates candidates;
    set->copyTo(candidates);
    json result = survivorsJson(candidates, meter, logits->size());
    result["stages"] = std::move(stages);
    return result;
}

} // namespace

Result<json> runSampleCases(const json &document)
{
    if (!document.is_object() || !document.contains("cases") || !document["cases"].is_array())
        return makeError(ErrorCode::BadFile, "sampling cases", "expected an object with a list named cases");
    json results = json::array();
    for (const json &sampleCase : document["cases"]) {
        Result<json> result = runCase(sampleCase);
        json entry = result ? std::move(*result) : json{{"error", result.error().text()}};
        entry["id"] = sampleCase.is_object() && sampleCase.contains("id") ? sampleCase["id"] : json();
        results.push_back(std::move(entry));
    }
    return json{{"results", std::move(results)}};
}

} // namespace tokenloupe
