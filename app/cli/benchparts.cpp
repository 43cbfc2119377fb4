// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/benchparts.h"

#include "app/cli/inputs.h"
#include "app/cli/table.h"
#include "engine/base/philox.h"
#include "engine/trace/stepexplanation.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tokenloupe::cli {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double medianOf(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values.empty() ? 0.0 : values[values.size() / 2];
}

/// Logits shaped like a model's: normal with deviation 3 (Box and Muller), the same every time.
std::vector<float> syntheticLogits(std::uint32_t vocabulary)
{
    std::vector<float> logits(vocabulary);
    for (std::uint32_t i = 0; i < vocabulary; ++i) {
        const double a = 1.0 - uniformDraw(1, i, 0);
        const double b = uniformDraw(1, i, 1);
        logits[i] =
            static_cast<float>(3.0 * std::sqrt(-2.0 * std::log(a)) * std::cos(2.0 * 3.141592653589793 * b));
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
            {"default", std::make_shared<SamplerSettings>(SamplerSettings::defaults())},
            {"default with penalties", penalised}};
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
    Table table({{"vocabulary", Align::Right}, {"chain", Align::Left}, {"µs a token", Align::Right}});
    for (std::uint32_t vocabulary : {32000U, 49152U, 128256U, 262144U}) {
        const auto logits = syntheticLogits(vocabulary);
        const auto history = benchTokens(256, vocabulary);
        for (const NamedChain &chain : benchChains()) {
            if (set.interrupt.happened())
                return set.terminal.fail(Error{ErrorCode::Cancelled, "bench", "cancelled"});
            const auto us = chainMicroseconds(chain, logits, history, options.repetitions);
            if (!us)
                return set.terminal.fail(us.error());
            rows.push_back(
                {{"vocabulary", vocabulary}, {"chain", chain.name}, {"us_per_token", number(*us)}});
            table.row({std::to_string(vocabulary), chain.name, fixed(*us, 1)});
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
    const auto file = GgufFile::open(options.model);
    if (!file)
        return set.terminal.fail(file.error());
    auto data = readVocabulary(**file, nullptr);
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
    std::vector<double> plain;
    std::vector<double> traced;
    for (std::uint32_t repetition = 0; repetition < options.repetitions; ++repetition) {
        settings.logitBudgetBytes = 0;
        const auto quiet = openSession(set, model, settings, options.session, status);
        if (!quiet)
            return status;
        const auto speed = decodeSpeed(*quiet, request, options, set.interrupt.token());
        if (!speed)
            return set.terminal.fail(speed.error());
        plain.push_back(*speed);

        settings.logitBudgetBytes = SessionSettings().logitBudgetBytes;
        const auto session = openSession(set, model, settings, options.session, status);
        if (!session)
            return status;
        const auto prompt = benchTokens(std::max(1U, options.depth), model->config().vocabulary);
        if (const auto prefilled = session->prefill(prompt, 0, nullptr, set.interrupt.token()); !prefilled)
            return set.terminal.fail(prefilled.error());
        Clock::time_point start = Clock::now();
        for (std::uint32_t i = 0; i <= options.predict; ++i) {
            const auto step = session->step(request);
            if (!step)
                return set.terminal.fail(step.error());
            ExplainRequest explain;
            explain.ref = step->ref;
            explain.logits = session->currentLogits();
            explain.history = session->history().first(step->position);
            explain.settings = step->settings;
            explain.step = step->ref.step.value();
            explain.chosen = step->token;
            explain.record = &*step;
            explain.rankWholeVocabulary = false; // as views ask while a run goes on
            if (const auto explained = explainStep(explain); !explained)
                return set.terminal.fail(explained.error());
            if (i == 0)
                start = Clock::now(); // the first draw uses the prefill's logits
        }
        traced.push_back(options.predict / std::max(1e-9, secondsSince(start)));
    }
    const double share = 1.0 - medianOf(traced) / std::max(1e-9, medianOf(plain));
    if (options.format == Format::JsonLines)
        set.terminal.json({{"model", options.model},
                           {"plain_tps", plain},
                           {"traced_tps", traced},
                           {"share_lost", number(share)}});
    else
        set.terminal.text("decode " + fixed(medianOf(plain), 1) + " tokens/s, recorded for every panel " +
                          fixed(medianOf(traced), 1) + " tokens/s: " + fixed(100.0 * share, 1) + " % lost\n");
    return set.terminal.end();
}

} // namespace tokenloupe::cli
