// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/addcommand.h"
#include "app/cli/inputs.h"
#include "app/cli/progressmeter.h"
#include "app/cli/runreport.h"
#include "app/cli/sampleroptions.h"
#include "app/cli/sessionoptions.h"
#include "engine/base/philox.h"
#include "engine/session/chatturns.h"

#include <chrono>

namespace tokenloupe::cli {

namespace {

struct RunOptions
{
    Format format = Format::Text;
    std::string model;
    std::optional<std::string> prompt;
    std::optional<std::string> promptFile;
    std::optional<std::string> ids;
    std::optional<std::string> chat;
    std::optional<std::uint32_t> predict; ///< absent: until the turn or the context ends
    std::optional<std::uint64_t> seed;
    SamplerOptions sampler;
    SessionOptions session;
    std::uint32_t top = 0;
    bool stages = false;
    bool ignoreEos = false;
    bool noCache = false;
    std::string overflow = "stop";
    std::uint32_t sinks = 4;
};

Result<std::vector<TokenId>> promptIds(const RunOptions &options, const LoadedModel &model)
{
    const auto idsOfPrompt = [](const PromptTokens &prompt) { return prompt.ids(); };
    if (options.ids)
        return parseIds(*options.ids);
    if (options.chat)
        return readJsonFile(*options.chat)
            .and_then([&](const Json &messages) { return chatPrompt(model, messages); })
            .map(idsOfPrompt);
    const Result<std::string> text = options.promptFile ? readFile(*options.promptFile) : *options.prompt;
    return text.and_then([&](const std::string &prompt) { return rawPrompt(model, prompt); })
        .map(idsOfPrompt);
}

Status checkBiases(const SamplerSettings &settings, const LoadedModel &model)
{
    std::vector<TokenId> ids;
    if (const StageSettings *stage = settings.find(StageKind::LogitBias)) {
        for (const auto &[id, bias] : std::get<LogitBiasParams>(stage->params).biases)
            ids.push_back(id);
    }
    return checkIds(model, ids);
}

/// Draws until something ends it; Nothing: `failure` says what went wrong.
std::optional<EndReason> generate(CommandSet &set, const RunOptions &options, Session &session,
                                  const std::shared_ptr<const SamplerSettings> &settings, RunReport &report,
                                  Error &failure)
{
    StepRequest request;
    request.settings = settings;
    // The token under way is finished: the stop is looked at between tokens.
    while (!options.predict || session.steps() < *options.predict) {
        if (set.interrupt.happened())
            return EndReason::Cancelled;
        const auto step = session.step(request);
        if (!step) {
            if (step.error().code == ErrorCode::ContextFull)
                return EndReason::Context;
            failure = step.error();
            return std::nullopt;
        }
        if (Status reported = report.token(*step); !reported) {
            failure = reported.error();
            return std::nullopt;
        }
        if (set.terminal.state() != OutputState::Open)
            return EndReason::Cancelled;
        if (step->endsTurn && !options.ignoreEos)
            return EndReason::Stop;
    }
    return EndReason::Length;
}

ExitStatus runRun(CommandSet &set, const RunOptions &options)
{
    Terminal &terminal = set.terminal;
    if (int(options.prompt.has_value()) + int(options.promptFile.has_value()) + int(options.ids.has_value()) +
            int(options.chat.has_value()) !=
        1)
        return terminal.usage("run: give one of --prompt, --prompt-file, --ids, --chat");
    auto sampler = options.sampler.settings();
    if (!sampler)
        return terminal.usage("run: " + sampler.error().text());
    auto settings = options.session.settings();
    if (!settings)
        return terminal.usage("run: " + settings.error().text());
    if (options.ids) {
        if (const auto ids = parseIds(*options.ids); !ids)
            return terminal.usage("run: " + ids.error().text());
    }
    settings->cacheUse = options.noCache ? CacheUse::Recompute : CacheUse::Keep;
    const auto overflow = overflowPolicyOf(options.overflow);
    if (!overflow)
        return terminal.usage("run: " + overflow.error().text());
    settings->overflow = *overflow;
    settings->sinkTokens = options.sinks;
    sampler->seed = options.seed.value_or(randomSeed());

    ExitStatus status = ExitStatus::Done;
    const auto model = loadModelShowing(set, options.model, options.session.loadOptions(), status);
    if (!model)
        return status;
    const auto ids = promptIds(options, *model);
    if (!ids)
        return terminal.fail(ids.error());
    if (Status known = checkIds(*model, *ids); !known)
        return terminal.fail(known.error());
    if (Status known = checkBiases(*sampler, *model); !known)
        return terminal.fail(known.error());
    const auto session = openSession(set, model, *settings, status);
    if (!session)
        return status;

    const auto shared = std::make_shared<const SamplerSettings>(std::move(*sampler));
    RunReport report(terminal, *session, {options.format, options.top, options.stages});
    const auto prefilled = [&] {
        ProgressMeter meter("reading the prompt");
        PromptRequest request;
        request.tokens = *ids;
        request.seed = shared->seed;
        if (options.chat) {
            if (auto messages = readJsonFile(*options.chat))
                request.withoutTurns = chatWithoutTurns(model, std::move(*messages));
        }
        return session->prefill(request, meter.progress(), set.interrupt.token());
    }();
    if (!prefilled) {
        if (prefilled.error().code == ErrorCode::Cancelled)
            report.end(EndReason::Cancelled);
        return terminal.fail(prefilled.error());
    }
    report.prompt(*prefilled);
    Error failure;
    const auto reason = generate(set, options, *session, shared, report, failure);
    if (!reason)
        return terminal.fail(failure);
    report.end(*reason);
    if (const ExitStatus written = terminal.end(); written != ExitStatus::Done)
        return written;
    return *reason == EndReason::Cancelled ? ExitStatus::Cancelled : ExitStatus::Done;
}

/// The parser would take "-1" for a huge unsigned number.
CLI::Validator notNegative()
{
    return CLI::Validator(
        [](const std::string &text) {
            return text.empty() || text[0] != '-' ? std::string() : "0 or more is expected, not " + text;
        },
        "");
}

} // namespace

void addRun(CommandSet &set)
{
    auto options = std::make_shared<RunOptions>();
    CLI::App *command = addCommand(set, "run", "Generates text and tells of every token", options, runRun);
    command->add_option("model", options->model, "GGUF file or Hugging Face folder")->required();
    command->add_option("-p,--prompt", options->prompt, "Plain text; BOS is added as the model wants");
    command->add_option("-f,--prompt-file", options->promptFile,
                        "Plain text from a file; - is standard input");
    command->add_option("--ids", options->ids, "Token ids, taken as they are: 1,2,3");
    command->add_option("--chat", options->chat,
                        "JSON list of {\"role\", \"content\"} for the model's chat template");
    command
        ->add_option("-n,--predict", options->predict,
                     "Most tokens to draw; default: until the turn or the context ends")
        ->check(notNegative());
    command
        ->add_option("-s,--seed", options->seed, "Seed of the draws; default: a random one, which is printed")
        ->check(notNegative());
    command->add_option("--top", options->top, "Tell of the K most likely tokens of every step");
    command->add_flag("--stages", options->stages, "Tell what each stage of the sampler chain did");
    command->add_flag("--ignore-eos", options->ignoreEos, "Go on after the model ends its turn");
    command->add_option("--overflow", options->overflow,
                        "When the context is full: stop, drop-turns (the oldest of --chat; the system prompt "
                        "stays), streaming (the first tokens and the most recent ones stay)");
    command
        ->add_option("--sinks", options->sinks,
                     "First tokens that stay with --overflow streaming, in whole blocks")
        ->check(notNegative());
    command->add_flag("--no-cache", options->noCache, "Compute the whole history anew for every token");
    options->session.addTo(*command);
    options->sampler.addTo(*command);
}

} // namespace tokenloupe::cli
