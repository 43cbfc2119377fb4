// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/samplecase.h"

#include "app/cli/inputs.h"
#include "app/cli/samplestep.h"
#include "engine/sampling/samplerchain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tokenloupe::cli {

namespace {

constexpr float removedLogit = -std::numeric_limits<float>::infinity();

/// Candidates that are left, with their present logits.
class Survivors
{
public:
    explicit Survivors(std::span<const float> logits) { m_candidates.assign(logits); }
    explicit Survivors(Candidates candidates)
        : m_candidates(std::move(candidates))
    {}

    const std::vector<Candidate> &items() const { return m_candidates.items; }
    std::vector<Candidate> &items() { return m_candidates.items; }

    /// Natural logarithm of Σ e^logit.
    double logSumExp() const
    {
        double maximum = -std::numeric_limits<double>::infinity();
        for (const Candidate &c : m_candidates.items)
            maximum = std::max(maximum, static_cast<double>(c.logit));
        if (!std::isfinite(maximum))
            return maximum;
        double sum = 0.0;
        for (const Candidate &c : m_candidates.items)
            sum += std::exp(static_cast<double>(c.logit) - maximum);
        return maximum + std::log(sum);
    }

    /// Over the whole vocabulary, removed ones -inf.
    std::vector<float> dense(std::size_t vocabulary) const
    {
        std::vector<float> logits(vocabulary, removedLogit);
        for (const Candidate &c : m_candidates.items)
            logits[c.id.value()] = c.logit;
        return logits;
    }

private:
    Candidates m_candidates;
};

/// Share of `before`'s probability that the ids of `after` hold.
double keptMass(const Survivors &before, const std::vector<Candidate> &after, std::size_t vocabulary)
{
    if (after.size() == before.items().size())
        return 1.0;
    std::vector<char> alive(vocabulary, 0);
    for (const Candidate &c : after)
        alive[c.id.value()] = 1;
    const double total = before.logSumExp();
    double mass = 0.0;
    for (const Candidate &c : before.items()) {
        if (alive[c.id.value()])
            mass += std::exp(static_cast<double>(c.logit) - total);
    }
    return mass;
}

class StageList : public ChainRecorder
{
public:
    StageList(Json &list, Survivors before, std::size_t vocabulary)
        : m_list(list)
        , m_before(std::move(before))
        , m_vocabulary(vocabulary)
    {}

    void begin(std::span<const float>) override {}
    void afterStage(const StageSettings &stage, const Candidates &candidates, double) override
    {
        m_list.push_back({{"name", stageName(stage.kind())},
                          {"candidates", candidates.items.size()},
                          {"mass", number(keptMass(m_before, candidates.items, m_vocabulary))}});
        m_before = Survivors(candidates);
    }
    void beforeDraw(const Candidates &, std::span<const double>) override {}
    void drawn(const DrawResult &) override {}

private:
    Json &m_list;
    Survivors m_before;
    std::size_t m_vocabulary;
};

bool better(const Candidate &a, const Candidate &b)
{
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

/// A filter that left fewer than `minKeep` keeps the best ones that it was given.
void refill(const Survivors &before, Survivors &after, std::size_t minKeep)
{
    if (after.items().size() >= std::min(minKeep, before.items().size()))
        return;
    std::vector<Candidate> best = before.items();
    std::sort(best.begin(), best.end(), better);
    best.resize(std::min(minKeep, best.size()));
    after = Survivors(Candidates{std::move(best), CandidateOrder::DescendingLogit});
}

/// Runs one or more stages as a chain. What earlier chains removed stays removed.
Status runChain(std::vector<StageSettings> stages, const std::vector<TokenId> &history,
                std::size_t vocabulary, Survivors &survivors, Json &list)
{
    auto settings = std::make_shared<SamplerSettings>();
    settings->stages = std::move(stages);
    StageList recorder(list, survivors, vocabulary);
    const SamplingContext context{history, 0};
    auto result = SamplerChain(settings).filter(survivors.dense(vocabulary), context, &recorder);
    if (!result)
        return tl::unexpected(result.error());
    std::vector<char> alive(vocabulary, 0);
    for (const Candidate &c : survivors.items())
        alive[c.id.value()] = 1;
    std::erase_if(result->items, [&](const Candidate &c) { return !alive[c.id.value()]; });
    survivors = Survivors(std::move(*result));
    return {};
}

void takeLogSoftmax(Survivors &survivors)
{
    const double total = survivors.logSumExp();
    for (Candidate &c : survivors.items())
        c.logit = static_cast<float>(static_cast<double>(c.logit) - total);
}

/// Steps in order; neighbours without rules of their own run as one chain, as they do in a run.
Result<Survivors> runSteps(const std::vector<SampleStep> &steps, std::span<const float> logits,
                           const std::vector<TokenId> &history, Json &stages)
{
    Survivors survivors(logits);
    std::vector<StageSettings> waiting;
    const auto flush = [&]() -> Status {
        if (waiting.empty())
            return {};
        return runChain(std::exchange(waiting, {}), history, logits.size(), survivors, stages);
    };
    // Logits that nothing can be drawn from are an error with no stage too.
    if (const auto statistics = logitStatistics(logits); !statistics)
        return tl::unexpected(statistics.error());
    for (const SampleStep &step : steps) {
        const bool own = step.logSoftmaxFirst || step.minKeep > 1 || step.skipHistory > 0 || !step.stage;
        if (!own) {
            waiting.push_back(*step.stage);
            continue;
        }
        if (Status done = flush(); !done)
            return tl::unexpected(done.error());
        if (step.logSoftmaxFirst)
            takeLogSoftmax(survivors);
        if (!step.stage) {
            stages.push_back({{"name", step.name}, {"candidates", survivors.items().size()}, {"mass", 1.0}});
            continue;
        }
        const std::size_t skipped = std::min(step.skipHistory, history.size());
        const std::vector<TokenId> rest(history.begin() + static_cast<std::ptrdiff_t>(skipped),
                                        history.end());
        const Survivors before = survivors;
        if (Status done = runChain({*step.stage}, rest, logits.size(), survivors, stages); !done)
            return tl::unexpected(done.error());
        const std::size_t kept = survivors.items().size();
        refill(before, survivors, step.minKeep);
        if (survivors.items().size() != kept && !stages.empty()) {
            stages.back()["candidates"] = survivors.items().size();
            stages.back()["mass"] = number(keptMass(before, survivors.items(), logits.size()));
        }
    }
    if (Status done = flush(); !done)
        return tl::unexpected(done.error());
    return survivors;
}

Result<float> logitOf(const Json &value)
{
    if (value.is_number())
        return value.get<float>();
    if (value == "nan")
        return std::numeric_limits<float>::quiet_NaN();
    if (value == "inf")
        return std::numeric_limits<float>::infinity();
    if (value == "-inf")
        return removedLogit;
    return makeError(ErrorCode::InvalidArgument, "input",
                     "a number, \"nan\", \"inf\" or \"-inf\" is expected");
}

Result<std::vector<float>> inputLogits(const Json &input)
{
    const bool isProbs = input.is_object() && input.contains("probs");
    if (!input.is_object() || (!isProbs && !input.contains("logits")))
        return makeError(ErrorCode::InvalidArgument, "input", "\"logits\" or \"probs\" is expected");
    const Json &list = input[isProbs ? "probs" : "logits"];
    if (!list.is_array() || list.empty())
        return makeError(ErrorCode::InvalidArgument, "input", "a list with at least one value is expected");
    std::vector<float> logits;
    for (const Json &value : list) {
        if (isProbs && !value.is_number())
            return makeError(ErrorCode::InvalidArgument, "input", "a probability is expected");
        auto logit =
            isProbs ? Result<float>(static_cast<float>(std::log(value.get<double>()))) : logitOf(value);
        if (!logit)
            return tl::unexpected(logit.error());
        logits.push_back(*logit);
    }
    return logits;
}

void report(const Survivors &survivors, std::size_t vocabulary, Json &out)
{
    std::vector<Candidate> byId = survivors.items();
    std::sort(byId.begin(), byId.end(), [](const Candidate &a, const Candidate &b) { return a.id < b.id; });
    const double total = survivors.logSumExp();
    Json kept = Json::array();
    Json probs = Json::object();
    for (const Candidate &c : byId) {
        kept.push_back(c.id.value());
        probs[std::to_string(c.id.value())] = number(std::exp(static_cast<double>(c.logit) - total));
    }
    Json logits = Json::array();
    for (float logit : survivors.dense(vocabulary))
        logits.push_back(number(logit));
    const auto best = std::min_element(byId.begin(), byId.end(), better);
    out["kept"] = std::move(kept);
    out["probs"] = std::move(probs);
    out["logits"] = std::move(logits);
    out["argmax"] = best == byId.end() ? Json() : Json(best->id.value());
}

Result<Json> evaluate(const Json &sampleCase)
{
    if (!sampleCase.contains("input") || !sampleCase.contains("steps"))
        return makeError(ErrorCode::InvalidArgument, "case", "\"input\" and \"steps\" are expected");
    auto steps = parseSampleSteps(sampleCase["steps"]);
    if (!steps)
        return tl::unexpected(steps.error());
    const auto logits = inputLogits(sampleCase["input"]);
    if (!logits)
        return tl::unexpected(logits.error());
    std::vector<TokenId> history;
    if (sampleCase.contains("history")) {
        auto ids = idsOf(sampleCase["history"]);
        if (!ids)
            return tl::unexpected(ids.error());
        history = std::move(*ids);
    }
    Json out = Json::object();
    Json stages = Json::array();
    const auto survivors = runSteps(*steps, *logits, history, stages);
    if (!survivors)
        return tl::unexpected(survivors.error());
    report(*survivors, logits->size(), out);
    out["stages"] = std::move(stages);
    return out;
}

} // namespace

Json runSampleCase(const Json &sampleCase)
{
    Json result{{"id", sampleCase.is_object() && sampleCase.contains("id") ? sampleCase["id"] : Json()},
                {"kept", Json::array()},
                {"probs", Json::object()},
                {"logits", Json::array()},
                {"argmax", nullptr},
                {"mu", nullptr},
                {"error", nullptr},
                {"stages", Json::array()}};
    const auto values = sampleCase.is_object()
                            ? evaluate(sampleCase)
                            : makeError(ErrorCode::InvalidArgument, "case", "an object is expected");
    if (values)
        result.update(*values);
    else
        result["error"] = values.error().text();
    return result;
}

} // namespace tokenloupe::cli
