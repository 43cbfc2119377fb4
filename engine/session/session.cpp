// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/session.h"

#include "engine/session/sessionstate.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <unistd.h>

namespace tokenloupe {

namespace {

constexpr std::uint32_t defaultContext = 8192;
constexpr std::uint32_t largestBatch = 4096;

std::string mebibytes(std::uint64_t bytes)
{
    return std::to_string(bytes >> 20) + " MiB";
}

std::uint64_t physicalMemory()
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long size = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || size <= 0)
        return std::numeric_limits<std::uint64_t>::max();
    return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
}

Result<SessionSettings> completed(SessionSettings settings, const ModelConfig &config)
{
    if (settings.contextTokens == 0)
        settings.contextTokens = std::max<std::uint32_t>(1, std::min(config.contextTrain, defaultContext));
    settings.batchTokens = std::clamp<std::uint32_t>(settings.batchTokens, 1, largestBatch);
    settings.batchTokens = std::min(settings.batchTokens, settings.contextTokens);
    if (settings.threads < 0 || settings.threads > 1024)
        return makeError(ErrorCode::InvalidArgument, "threads",
                         "0 to 1024, not " + std::to_string(settings.threads));
    if (settings.threads == 0)
        settings.threads = usableCores();
    return settings;
}

/// What is anonymous memory of the plan must fit this machine: weights are a mapping of their file.
Status fitsMachine(const MemoryPlan &plan, const SessionSettings &settings)
{
    const std::uint64_t wanted = plan.total() - plan.bytesOf(MemoryPart::Weights);
    const std::uint64_t machine = physicalMemory();
    if (wanted <= machine)
        return {};
    const std::uint64_t cache = plan.bytesOf(MemoryPart::KvCache);
    const std::uint64_t rest = wanted - cache;
    const std::uint64_t perToken = std::max<std::uint64_t>(1, cache / settings.contextTokens);
    const std::uint64_t fits = rest < machine ? (machine - rest) / perToken : 0;
    return makeError(
        ErrorCode::OutOfMemory, "context of " + std::to_string(settings.contextTokens) + " tokens",
        mebibytes(wanted) + " are needed (KV cache " + mebibytes(cache) + "), this machine has " +
            mebibytes(machine) + "; at most " + std::to_string(fits) + " tokens fit");
}

} // namespace

Session::Session(std::unique_ptr<State> state)
    : m_state(std::move(state))
{}

Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const LoadedModel> model,
                                                 const SessionSettings &settings, Progress *progress,
                                                 std::stop_token stop)
{
    auto state = std::make_unique<State>();
    state->thread = std::this_thread::get_id();
    state->model = std::move(model);
    const ModelConfig &config = state->model->config();
    auto complete = completed(settings, config);
    if (!complete)
        return tl::unexpected(complete.error());
    state->settings = *complete;

    RunMemorySettings memory;
    memory.contextTokens = state->settings.contextTokens;
    memory.batchTokens = state->settings.batchTokens;
    memory.keyType = state->settings.keyType;
    memory.valueType = state->settings.valueType;
    memory.traceBudgetBytes = state->settings.logitBudgetBytes;
    memory.threads = static_cast<decltype(memory.threads)>(state->settings.threads);
    const Model &loaded = *state->model->model;
    memory.vocabulary =
        vocabularyFacts(loaded.vocabulary(), loaded.file().dataOffset(), loaded.chatTemplate().size());
    auto plan = planMemory(config, state->model->model->weightsBytes(), memory);
    if (!plan)
        return tl::unexpected(plan.error());
    state->plan = std::move(*plan);
    if (Status fits = fitsMachine(state->plan, state->settings); !fits)
        return tl::unexpected(fits.error());

    auto backend = makeCpuBackend(state->settings.threads);
    if (!backend)
        return tl::unexpected(backend.error());
    state->backend = std::move(*backend);
    state->settings.threads = state->backend->threads();
    auto transformer =
        Transformer::create(state->model->model, state->backend, state->settings.batchTokens, progress, stop);
    if (!transformer)
        return tl::unexpected(transformer.error());
    state->transformer = std::move(*transformer);
    KvShape shape = state->transformer->kvShape(state->settings.keyType, state->settings.valueType);
    shape.blockTokens = memory.blockTokens;
    auto cache = KvCache::create(shape, state->settings.contextTokens);
    if (!cache)
        return tl::unexpected(cache.error());
    state->cache = std::make_unique<KvCache>(std::move(*cache));
    state->logits = std::make_shared<LogitStore>(state->settings.logitBudgetBytes);
    return std::unique_ptr<Session>(new Session(std::move(state)));
}

Result<RunRecord> Session::prefill(std::span<const TokenId> prompt, std::uint64_t seed, Progress *progress,
                                   std::stop_token stop)
{
    State &s = *m_state;
    assert(s.isOwnThread());
    if (prompt.empty())
        return makeError(ErrorCode::InvalidArgument, "prompt", "it holds no token");
    if (prompt.size() > s.settings.contextTokens)
        return makeError(ErrorCode::ContextFull, "prompt",
                         std::to_string(prompt.size()) + " tokens do not fit a context of " +
                             std::to_string(s.settings.contextTokens));
    for (TokenId id : prompt) {
        if (id.value() >= s.model->config().vocabulary)
            return makeError(ErrorCode::InvalidArgument, "prompt",
                             "token id " + std::to_string(id.value()) + " is not below the vocabulary's " +
                                 std::to_string(s.model->config().vocabulary));
    }

    Stopwatch watch;
    if (s.settings.cacheUse == CacheUse::Recompute)
        s.truncate(0);
    // The last token is always computed: its logits are what the first step draws from.
    const auto shared = std::mismatch(prompt.begin(), prompt.end(), s.cached.begin(), s.cached.end());
    const auto common = static_cast<std::size_t>(shared.first - prompt.begin());
    const auto reused = static_cast<std::uint32_t>(std::min(common, prompt.size() - 1));
    std::vector<TokenId> wanted(prompt.begin(), prompt.end()); // `prompt` may be a view of history
    s.endRun();
    s.truncate(reused);
    if (progress) {
        progress->start(wanted.size());
        progress->advance(reused);
    }
    auto row = s.forward(std::span<const TokenId>(wanted).subspan(reused), progress, stop);
    if (!row)
        return tl::unexpected(row.error());

    s.take(*row);
    s.history = wanted;
    s.promptTokens = static_cast<std::uint32_t>(wanted.size());
    s.run = RunId(s.runs++);
    s.seed = seed;
    s.logitsReady = true;
    s.stepForwardMs.push_back(0.0);

    RunRecord record;
    record.run = s.run;
    record.prompt = std::move(wanted);
    record.reusedTokens = reused;
    record.prefilledTokens = s.promptTokens - reused;
    record.seed = seed;
    record.prefillMs = watch.lap();
    return record;
}

Status Session::rewind(StepIndex step)
{
    State &s = *m_state;
    assert(s.isOwnThread());
    if (!s.run.isValid() || !step.isValid() || step.value() > s.steps)
        return makeError(ErrorCode::InvalidArgument, "rewind", "this step was not drawn yet");
    if (step.value() == s.steps)
        return {};
    const std::uint32_t tokens = s.promptTokens + step.value();
    if (const LogitStore::Row row = s.logits->get({s.run, step})) {
        s.truncate(tokens);
        s.take(*row);
    } else if (step.value() + 1 == s.steps && !s.logitsReady) {
        s.truncate(tokens); // drawn last: its logits are the present ones
    } else {
        auto computed = s.forwardUpTo(tokens, {});
        if (!computed)
            return tl::unexpected(computed.error());
        s.take(*computed);
    }
    s.history.resize(tokens);
    s.steps = step.value();
    s.stepForwardMs.resize(std::size_t(step.value()) + 1);
    s.logitsReady = true;
    s.logits->truncate(s.run, step);
    return {};
}

Status Session::score(std::span<const TokenId> ids,
                      const std::function<void(std::uint32_t, std::span<const float>)> &take,
                      std::stop_token stop)
{
    State &s = *m_state;
    assert(s.isOwnThread());
    if (ids.size() > s.settings.contextTokens)
        return makeError(ErrorCode::ContextFull, "score",
                         std::to_string(ids.size()) + " tokens do not fit a context of " +
                             std::to_string(s.settings.contextTokens));
    const std::vector<TokenId> wanted(ids.begin(), ids.end());
    s.endRun();
    s.truncate(0);
    // All rows of a batch are held at once: at most 64 MiB of them.
    const std::uint32_t vocabulary = s.model->config().vocabulary;
    const std::size_t rows = std::clamp<std::size_t>((std::size_t(64) << 20) / sizeof(float) / vocabulary, 1,
                                                     s.settings.batchTokens);
    for (std::size_t done = 0; done < wanted.size();) {
        ForwardRequest request;
        request.tokens = std::span<const TokenId>(wanted).subspan(done, std::min(rows, wanted.size() - done));
        request.rows = LogitRows::All;
        request.stop = stop;
        auto result = s.transformer->forward(request, *s.cache);
        if (!result)
            return tl::unexpected(result.error());
        s.cached.insert(s.cached.end(), request.tokens.begin(), request.tokens.end());
        for (std::size_t row = 0; row < request.tokens.size(); ++row)
            take(static_cast<std::uint32_t>(done + row), result->subspan(row * vocabulary, vocabulary));
        done += request.tokens.size();
    }
    return {};
}

const LoadedModel &Session::model() const
{
    return *m_state->model;
}
std::shared_ptr<const LoadedModel> Session::sharedModel() const
{
    return m_state->model;
}
const SessionSettings &Session::settings() const
{
    return m_state->settings;
}
const MemoryPlan &Session::plan() const
{
    return m_state->plan;
}
const Backend &Session::backend() const
{
    return *m_state->backend;
}
const KvCache &Session::cache() const
{
    return *m_state->cache;
}
std::shared_ptr<LogitStore> Session::logits() const
{
    return m_state->logits;
}
RunId Session::run() const
{
    return m_state->run;
}
std::span<const TokenId> Session::history() const
{
    return m_state->history;
}
std::uint32_t Session::steps() const
{
    return m_state->steps;
}
std::span<const float> Session::currentLogits() const
{
    return m_state->currentLogits;
}
std::uint64_t Session::activationBytes() const
{
    return m_state->transformer->scratchBytes();
}

} // namespace tokenloupe
