// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/benchparts.h"

#include "app/cli/benchcapture.h"
#include "app/cli/inputs.h"
#include "app/cli/table.h"
#include "app/cli/vocabularyinput.h"
#include "engine/base/philox.h"
#include "engine/sampling/logitscan.h"
#include "engine/trace/stepexplanation.h"
#include "engine/trace/tracemailbox.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

namespace tokenloupe::cli {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

enum class Shape {
    Spread, ///< normal with deviation 3: a model that is unsure
    Peaked, ///< a few hundred that rise to a peak over a broad floor: one that is sure
    Flat    ///< normal with deviation 1: nearly everything counts
};
constexpr std::pair<Shape, const char *> shapes[] = {
    {Shape::Peaked, "peaked"}, {Shape::Spread, "spread"}, {Shape::Flat, "flat"}};

/// The same every time (Box and Muller over counted draws).
std::vector<float> syntheticLogits(std::uint32_t vocabulary, Shape shape)
{
    const double deviation = shape == Shape::Spread ? 3.0 : shape == Shape::Peaked ? 2.0 : 1.0;
    std::vector<float> logits(vocabulary);
    for (std::uint32_t i = 0; i < vocabulary; ++i) {
        const double a = 1.0 - uniformDraw(1, i, 0);
        const double b = uniformDraw(1, i, 1);
        logits[i] = static_cast<float>(deviation * std::sqrt(-2.0 * std::log(a)) *
                                       std::cos(2.0 * 3.141592653589793 * b));
    }
    if (shape == Shape::Peaked) {
        for (std::uint32_t rank = 1; rank <= 300; ++rank)
            logits[std::uint64_t(rank) * 7919 % vocabulary] =
                static_cast<float>(17.0 - 1.6 * std::log(static_cast<double>(rank)));
    }
    return logits;
}

struct NamedChain
{
    const char *name;
    std::shared_ptr<const SamplerSettings> settings;
};

std::vector<NamedChain> benchChains()
{
    const auto chain = [](std::vector<StageSettings> stages) {
        auto settings = std::make_shared<SamplerSettings>();
        settings->stages = std::move(stages);
        return settings;
    };
    auto penalised = std::make_shared<SamplerSettings>(SamplerSettings::defaults());
    if (StageSettings *stage = penalised->find(StageKind::Penalties))
        stage->params = PenaltiesParams{64, 1.1F, 0.1F, 0.1F};
    return {{"greedy", greedySettings()},
            {"temperature", chain({{TemperatureParams{0.8F}}})},
            {"top_k", chain({{TopKParams{40}}})},
            {"top_p", chain({{TopPParams{0.95F}}})},
            {"min_p", chain({{MinPParams{0.05F}}})},
            {"top_p and temperature", chain({{TopPParams{0.95F}}, {TemperatureParams{0.8F}}})},
            {"default", std::make_shared<SamplerSettings>(SamplerSettings::defaults())},
            {"default with penalties", penalised}};
}

/// Median time of what the inspector counts of a step: log-sum-exp, entropy, the first 50, one token's rank.
Result<double> statisticsMicroseconds(const std::vector<float> &logits, std::uint32_t repetitions)
{
    std::vector<double> times;
    for (std::uint32_t i = 0; i < repetitions * 20; ++i) {
        const auto start = Clock::now();
        const auto statistics = logitStatistics(logits);
        if (!statistics)
            return tl::unexpected(statistics.error());
        const std::vector<Candidate> first = selectTop(logits, 50);
        const std::uint32_t rank = rankOf(logits, first.back().id);
        times.push_back(secondsSince(start) * 1e6);
        if (rank + 1 != first.size())
            return makeError(ErrorCode::InvalidLogits, "bench", "ranks and the list of the first disagree");
    }
    return medianOf(std::move(times));
}

/// Median time of one run of the chain, µs; nothing when it fails.
Result<double> chainMicroseconds(const NamedChain &chain, const std::vector<float> &logits,
                                 const std::vector<TokenId> &history, std::uint32_t repetitions)
{
    const SamplerChain sampler(chain.settings);
    std::vector<double> times;
    constexpr std::uint32_t runsOfRepetition = 20;
    for (std::uint32_t i = 0; i < repetitions * runsOfRepetition; ++i) {
        const auto start = Clock::now();
        const auto drawn = sampler.run(logits, {history, i});
        if (!drawn)
            return tl::unexpected(drawn.error());
        times.push_back(secondsSince(start) * 1e6);
    }
    return medianOf(std::move(times));
}

} // namespace

double medianOf(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values.empty() ? 0.0 : values[values.size() / 2];
}

std::vector<TokenId> benchTokens(std::uint32_t count, std::uint32_t vocabulary)
{
    std::vector<TokenId> ids;
    for (std::uint32_t i = 0; i < count; ++i)
        ids.emplace_back(static_cast<std::uint32_t>((std::uint64_t(i) * 7919 + 13) % vocabulary));
    return ids;
}

std::shared_ptr<const SamplerSettings> greedySettings()
{
    auto settings = std::make_shared<SamplerSettings>();
    settings->stages = {StageSettings{TemperatureParams{0.0F}}};
    return settings;
}

Result<double> decodeSpeed(Session &session, const StepRequest &request, const BenchOptions &options,
                           const std::stop_token &stop)
{
    const auto prompt = benchTokens(std::max(1U, options.depth), session.model().config().vocabulary);
    if (const auto prefilled = session.prefill(prompt, 0, nullptr, stop); !prefilled)
        return tl::unexpected(prefilled.error());
    // The first draw uses the prefill's logits: it is no decoding.
    if (const auto first = session.step(request); !first)
        return tl::unexpected(first.error());
    const auto start = Clock::now();
    for (std::uint32_t i = 0; i < options.predict; ++i) {
        if (const auto step = session.step(request); !step)
            return tl::unexpected(step.error());
    }
    return options.predict / std::max(1e-9, secondsSince(start));
}

ExitStatus benchSampler(CommandSet &set, const BenchOptions &options)
{
    Json rows = Json::array();
    Table table({{"vocabulary", Align::Right},
                 {"chain", Align::Left},
                 {"peaked", Align::Right},
                 {"spread", Align::Right},
                 {"flat, µs a token", Align::Right}});
    std::vector<NamedChain> chains = benchChains();
    chains.push_back({"inspector statistics", nullptr});
    for (std::uint32_t vocabulary : {32000U, 49152U, 128256U, 262144U}) {
        const auto history = benchTokens(256, vocabulary);
        for (const NamedChain &chain : chains) {
            std::vector<std::string> cells{std::to_string(vocabulary), chain.name};
            for (const auto &[shape, shapeName] : shapes) {
                if (set.interrupt.happened())
                    return set.terminal.fail(Error{ErrorCode::Cancelled, "bench", "cancelled"});
                const auto logits = syntheticLogits(vocabulary, shape);
                const auto us = chain.settings
                                    ? chainMicroseconds(chain, logits, history, options.repetitions)
                                    : statisticsMicroseconds(logits, options.repetitions);
                if (!us)
                    return set.terminal.fail(us.error());
                rows.push_back({{"vocabulary", vocabulary},
                                {"chain", chain.name},
                                {"logits", shapeName},
                                {"us_per_token", number(*us)}});
                cells.push_back(fixed(*us, 1));
            }
            table.row(std::move(cells));
        }
    }
    if (options.format == Format::JsonLines)
        set.terminal.json({{"sampler", std::move(rows)}});
    else
        set.terminal.text(table.text());
    return set.terminal.end();
}

ExitStatus benchTokenizer(CommandSet &set, const BenchOptions &options)
{
    const auto text = readFile(*options.tokenizerFile);
    if (!text)
        return set.terminal.fail(text.error());
    auto data = readAnyVocabulary(options.model, nullptr);
    if (!data)
        return set.terminal.fail(data.error());
    const auto tokenizer = makeTokenizer(std::move(*data));
    if (!tokenizer)
        return set.terminal.fail(tokenizer.error());
    std::vector<double> speeds;
    std::size_t tokens = 0;
    for (std::uint32_t i = 0; i < options.repetitions && !set.interrupt.happened(); ++i) {
        const auto start = Clock::now();
        const auto encoded = (*tokenizer)->encode(*text);
        if (!encoded)
            return set.terminal.fail(encoded.error());
        speeds.push_back(static_cast<double>(text->size()) / 1e6 / std::max(1e-9, secondsSince(start)));
        tokens = encoded->size();
    }
    if (set.interrupt.happened())
        return set.terminal.fail(Error{ErrorCode::Cancelled, "bench", "cancelled"});
    if (options.format == Format::JsonLines)
        set.terminal.json(
            {{"model", options.model}, {"bytes", text->size()}, {"tokens", tokens}, {"mb_per_s", speeds}});
    else
        set.terminal.text(std::to_string(text->size()) + " bytes, " + std::to_string(tokens) +
                          " tokens: " + fixed(medianOf(speeds), 2) + " MB/s\n");
    return set.terminal.end();
}

namespace {

/// What the window's panels ask for of a step.
Status explain(const Session &session, const StepRecord &step)
{
    ExplainRequest request;
    request.ref = step.ref;
    request.logits = session.currentLogits();
    request.history = session.history().first(step.position);
    request.settings = step.settings;
    request.step = step.ref.step.value();
    request.chosen = step.token;
    request.record = &step;
    const auto explained = explainStep(request);
    return explained ? Status() : tl::unexpected(explained.error());
}

enum class Recording { Nothing, EveryPanel };

/// Seconds of each of `predict` steps that do a forward pass. With every panel open each step is recorded,
/// and as many are explained as the window explains while tokens come.
Result<std::vector<double>> stepSeconds(Session &session, const StepRequest &request,
                                        const BenchOptions &options, Recording recording)
{
    const auto prompt = benchTokens(std::max(1U, options.depth), session.model().config().vocabulary);
    if (const auto prefilled = session.prefill(prompt, 0, nullptr, request.stop); !prefilled)
        return tl::unexpected(prefilled.error());
    TraceMailbox mailbox;
    std::vector<double> seconds;
    auto nextExplanation = Clock::now();
    for (std::uint32_t i = 0; i <= options.predict; ++i) {
        const auto start = Clock::now();
        auto step = session.step(request);
        if (!step)
            return tl::unexpected(step.error());
        if (recording == Recording::EveryPanel) {
            if (start >= nextExplanation) {
                if (const Status explained = explain(session, *step); !explained)
                    return tl::unexpected(explained.error());
                nextExplanation = start + liveExplanationInterval;
            }
            mailbox.post(std::move(*step));
        }
        if (i > 0) // the first draw uses the prefill's logits: it is no decoding
            seconds.push_back(secondsSince(start));
    }
    return seconds;
}

Json capturesJson(const std::vector<CaptureCost> &captures)
{
    Json rows = Json::array();
    for (const CaptureCost &cost : captures)
        rows.push_back({{"captured", cost.captured},
                        {"bytes", cost.bytes},
                        {"plain_step_us", number(cost.plainUs)},
                        {"difference_us", number(cost.differenceUs)},
                        {"share", number(cost.share())}});
    return rows;
}

std::string capturesText(const std::vector<CaptureCost> &captures)
{
    Table table({{"captured of each step", Align::Left},
                 {"KiB", Align::Right},
                 {"µs", Align::Right},
                 {"µs more", Align::Right},
                 {"%", Align::Right}});
    for (const CaptureCost &cost : captures)
        table.row({cost.captured, fixed(static_cast<double>(cost.bytes) / 1024.0, 0), fixed(cost.plainUs, 0),
                   fixed(cost.differenceUs, 1), fixed(100.0 * cost.share(), 2)});
    return table.text();
}

} // namespace

ExitStatus benchTrace(CommandSet &set, const BenchOptions &options, SessionSettings settings)
{
    ExitStatus status = ExitStatus::Done;
    const auto model = loadModelShowing(set, options.model, options.session.loadOptions(), status);
    if (!model)
        return status;
    if (settings.contextTokens == 0)
        settings.contextTokens = std::max(1U, options.depth) + options.predict + 2;
    StepRequest request;
    request.settings = std::make_shared<SamplerSettings>(SamplerSettings::defaults());
    request.stop = set.interrupt.token();
    std::array<std::vector<double>, 2> speeds;  // tokens a second, one a repetition
    std::array<std::vector<double>, 2> seconds; // of each step
    for (std::uint32_t repetition = 0; repetition < options.repetitions; ++repetition) {
        for (std::size_t turn = 0; turn < 2; ++turn) {
            // Which goes first changes, so that a machine that slows down favours neither.
            const std::size_t kind = (turn + repetition) % 2;
            const auto recording = kind == 0 ? Recording::Nothing : Recording::EveryPanel;
            settings.logitBudgetBytes = kind == 0 ? 0 : SessionSettings().logitBudgetBytes;
            const auto session = openSession(set, model, settings, status);
            if (!session)
                return status;
            const auto steps = stepSeconds(*session, request, options, recording);
            if (!steps)
                return set.terminal.fail(steps.error());
            const double sum = std::accumulate(steps->begin(), steps->end(), 0.0);
            speeds[kind].push_back(static_cast<double>(steps->size()) / std::max(1e-9, sum));
            seconds[kind].insert(seconds[kind].end(), steps->begin(), steps->end());
        }
    }
    auto session = openSession(set, model, settings, status);
    if (!session)
        return status;
    const SessionSettings complete = session->settings();
    session.reset(); // its memory is needed no more
    const auto captures = captureCosts(model->model, complete, options, set.interrupt.token());
    if (!captures)
        return set.terminal.fail(captures.error());
    const double plain = medianOf(seconds[0]);
    const double traced = medianOf(seconds[1]);
    // Of the speed, not of the median step: memory that comes slowly every few tokens is lost time too.
    const double share = 1.0 - medianOf(speeds[1]) / std::max(1e-9, medianOf(speeds[0]));
    if (options.format == Format::JsonLines)
        set.terminal.json({{"model", options.model},
                           {"plain_tps", speeds[0]},
                           {"traced_tps", speeds[1]},
                           {"plain_step_us", number(plain * 1e6)},
                           {"traced_step_us", number(traced * 1e6)},
                           {"share_lost", number(share)},
                           {"captures", capturesJson(*captures)}});
    else
        set.terminal.text("decode " + fixed(medianOf(speeds[0]), 1) + " tokens/s, recorded for every panel " +
                          fixed(medianOf(speeds[1]), 1) + " tokens/s: " + fixed(100.0 * share, 1) +
                          " % lost; median step " + fixed(plain * 1e6, 0) + " and " + fixed(traced * 1e6, 0) +
                          " µs\n\n" + capturesText(*captures));
    return set.terminal.end();
}

} // namespace tokenloupe::cli
