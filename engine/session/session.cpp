// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/session.h"

#include "engine/session/sessionplan.h"
#include "engine/session/sessionstate.h"

#include <algorithm>
#include <cassert>

namespace tokenloupe {

Session::Session(std::unique_ptr<State> state)
    : m_state(std::move(state))
{}

Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const LoadedModel> model,
                                                 const SessionSettings &settings, Progress *progress,
                                                 std::stop_token stop, BackendMaker maker)
{
    auto state = std::make_unique<State>();
    state->maker = std::move(maker);
    state->thread = std::this_thread::get_id();
    state->model = std::move(model);
    if (Status built = state->build(settings, progress, stop); !built)
        return tl::unexpected(built.error());
    return std::unique_ptr<Session>(new Session(std::move(state)));
}

Status Session::reconfigure(const SessionSettings &settings, Progress *progress, std::stop_token stop)
{
    assert(m_state->isOwnThread());
    return m_state->build(settings, progress, stop);
}

Result<RunRecord> Session::prefill(std::span<const TokenId> prompt, std::uint64_t seed, Progress *progress,
                                   std::stop_token stop)
{
    return prefill(PromptRequest{prompt, seed, {}}, progress, std::move(stop));
}

Result<RunRecord> Session::prefill(const PromptRequest &prompt, Progress *progress, std::stop_token stop)
{
    State &s = *m_state;
    assert(s.isOwnThread());
    if (prompt.tokens.empty())
        return makeError(ErrorCode::InvalidArgument, "prompt", "it holds no token");
    if (Status known = s.checkTokens(prompt.tokens, "prompt"); !known)
        return tl::unexpected(known.error());

    Stopwatch watch;
    auto run = std::make_unique<SessionRun>(s.engine, RunId(s.started));
    // `prompt` may be a view of the history of a run that ends here.
    if (Status started = run->start(prompt); !started)
        return tl::unexpected(started.error());
    s.endRuns(); // only now is all that they computed findable
    run->adoptKnown();
    const std::uint32_t reused = run->cachedTokens();
    if (progress) {
        progress->start(run->history().size());
        progress->advance(reused);
    }
    s.forgetTimes();
    const auto row = run->feed(progress, stop);
    if (!row)
        return tl::unexpected(row.error());
    run->take(*row);
    run->logitsReady = true;
    run->stepCosts.emplace_back();

    RunRecord record;
    record.run = run->id();
    record.prompt.assign(run->history().begin(), run->history().end());
    record.reusedTokens = reused;
    record.prefilledTokens = run->promptTokens() - reused;
    record.droppedTurns = run->droppedTurns();
    record.droppedTokens = run->takeDropped().tokens;
    run->takeComputed();
    record.seed = prompt.seed;
    s.noteArithmetic(record);
    record.prefillMs = watch.lap();
    if (s.measuring == Measuring::On)
        record.operations = s.takeOperationTimes();
    ++s.started;
    s.active = run.get();
    s.runs.emplace(record.run, std::move(run));
    return record;
}

Status Session::rewind(StepIndex step)
{
    State &s = *m_state;
    assert(s.isOwnThread());
    if (!s.active || !step.isValid() || step.value() > s.active->steps())
        return makeError(ErrorCode::InvalidArgument, "rewind", "this step was not drawn yet");
    SessionRun &run = *s.active;
    if (step.value() == run.steps())
        return {};
    const LogitStore::Row stored = s.engine.logits->get({run.id(), step});
    // Drawn last: its logits are the present ones.
    const bool isPresent = step.value() + 1 == run.steps() && !run.logitsReady;
    run.rewindTo(step.value());
    if (stored) {
        run.take(stored);
    } else if (!isPresent) {
        run.forgetLast();
        const auto computed = run.feed(nullptr, {});
        if (!computed)
            return tl::unexpected(computed.error());
        run.take(*computed);
    }
    run.logitsReady = true;
    s.engine.logits->truncate(run.id(), step);
    return {};
}

Result<RunRecord> Session::fork(StepIndex step, std::uint64_t seed)
{
    State &s = *m_state;
    assert(s.isOwnThread());
    if (!s.active || !step.isValid() || step.value() > s.active->steps())
        return makeError(ErrorCode::InvalidArgument, "branch", "this step was not drawn yet");
    const SessionRun &parent = *s.active;
    const bool isNext = step.value() == parent.steps();
    if (isNext && !parent.logitsReady)
        return makeError(ErrorCode::InvalidArgument, "branch",
                         "the logits of this step are not computed yet");
    auto run = std::make_unique<SessionRun>(s.engine, RunId(s.started));
    run->branchFrom(parent, step.value());
    run->seed = seed;
    const LogitStore::Row stored = s.engine.logits->get({parent.id(), step});
    if (isNext || (step.value() + 1 == parent.steps() && !parent.logitsReady)) {
        run->take(parent.currentLogits());
    } else if (stored) {
        run->take(stored);
    } else {
        run->forgetLast();
        const auto computed = run->feed(nullptr, {});
        if (!computed)
            return tl::unexpected(computed.error());
        run->take(*computed);
    }
    run->logitsReady = true;
    s.engine.logits->share(parent.id(), run->id(), step.value());

    RunRecord record;
    record.run = run->id();
    const auto prompt = run->history().first(run->promptTokens());
    record.prompt.assign(prompt.begin(), prompt.end());
    record.reusedTokens = run->cachedTokens();
    record.seed = seed;
    s.noteArithmetic(record);
    record.droppedTurns = run->droppedTurns();
    record.parent = {parent.id(), step};
    ++s.started;
    s.active = run.get();
    s.runs.emplace(record.run, std::move(run));
    return record;
}

Status Session::activate(RunId run)
{
    const auto found = m_state->runs.find(run);
    if (found == m_state->runs.end())
        return makeError(ErrorCode::InvalidArgument, "run", "it is not open any more");
    m_state->active = found->second.get();
    return {};
}

std::vector<RunId> Session::openRuns() const
{
    std::vector<RunId> ids;
    for (const auto &[id, run] : m_state->runs)
        ids.push_back(id);
    return ids;
}

Status Session::setCacheUse(CacheUse use)
{
    SessionSettings &settings = m_state->engine.settings;
    if (Status good = checkCacheUse(use, settings.overflow); !good)
        return good;
    settings.cacheUse = use;
    return {};
}

void Session::measureOperations(Measuring measuring)
{
    m_state->measure(measuring);
}

Result<std::span<const float>> Session::computeAfresh(std::span<const TokenId> tokens, std::stop_token stop)
{
    State &s = *m_state;
    assert(s.isOwnThread());
    if (tokens.empty())
        return makeError(ErrorCode::InvalidArgument, "compute", "no tokens");
    KvCache &cache = *s.engine.cache;
    const SequenceId sequence = cache.open();
    Result<std::span<const float>> row;
    while (row && !tokens.empty()) {
        ForwardRequest request;
        request.tokens = tokens.first(std::min<std::size_t>(
            {tokens.size(), s.engine.settings.batchTokens, std::max(1U, cache.largestAppend(sequence))}));
        request.stop = stop;
        tokens = tokens.subspan(request.tokens.size());
        row = s.engine.transformer->forward(request, cache, sequence);
    }
    cache.discard(sequence);
    return row;
}

std::shared_ptr<const CacheSnapshot> Session::cacheSnapshot() const
{
    const State &s = *m_state;
    auto snapshot = std::make_shared<CacheSnapshot>(
        s.engine.cache->snapshot(s.active ? s.active->sequence() : SequenceId()));
    snapshot->counters.droppedTokens = s.engine.droppedTokens;
    snapshot->counters.droppedTurns = s.engine.droppedTurns;
    return snapshot;
}

Result<std::unique_ptr<ScorePass>> Session::beginScore(std::span<const TokenId> ids)
{
    State &s = *m_state;
    assert(s.isOwnThread());
    const SessionSettings &settings = s.engine.settings;
    if (ids.size() > settings.contextTokens)
        return makeError(ErrorCode::ContextFull, "score",
                         std::to_string(ids.size()) + " tokens do not fit a context of " +
                             std::to_string(settings.contextTokens));
    std::vector<TokenId> wanted(ids.begin(), ids.end()); // may be a view of a history
    s.endRuns();
    return std::make_unique<ScorePass>(*s.engine.transformer, *s.engine.cache, std::move(wanted));
}

Status Session::score(std::span<const TokenId> ids,
                      const std::function<void(std::uint32_t, std::span<const float>)> &take,
                      std::stop_token stop)
{
    auto pass = beginScore(ids);
    if (!pass)
        return tl::unexpected(pass.error());
    while (!(*pass)->atEnd()) {
        const std::uint32_t position = (*pass)->position();
        const auto row = (*pass)->next(nullptr, stop);
        if (!row)
            return tl::unexpected(row.error());
        take(position, *row);
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
    return m_state->engine.settings;
}
const MemoryPlan &Session::plan() const
{
    return m_state->plan;
}
const std::optional<DeviceNeeds> &Session::deviceNeeds() const
{
    return m_state->deviceNeeds;
}
const Backend &Session::backend() const
{
    return *m_state->backend;
}
std::optional<std::uint32_t> Session::deviceLayers() const
{
    return m_state->host ? m_state->engine.settings.deviceLayers : std::nullopt;
}
RunArithmetic Session::arithmetic() const
{
    return m_state->arithmetic();
}
const std::string &Session::fallbackReason() const
{
    return m_state->fallbackReason;
}
bool Session::isDeviceLost() const
{
    return m_state->backend->isLost();
}
const KvCache &Session::cache() const
{
    return *m_state->engine.cache;
}
std::uint32_t Session::cachedTokens() const
{
    return m_state->active ? m_state->active->cachedTokens() : 0;
}
std::uint64_t Session::kvBytes() const
{
    return m_state->active ? m_state->engine.cache->usedBytes(m_state->active->sequence()) : 0;
}
std::shared_ptr<LogitStore> Session::logits() const
{
    return m_state->engine.logits;
}
RunId Session::run() const
{
    return m_state->active ? m_state->active->id() : RunId();
}
std::span<const TokenId> Session::history() const
{
    return m_state->active ? m_state->active->history() : std::span<const TokenId>();
}
std::span<const TokenId> Session::context() const
{
    return m_state->active ? m_state->active->context() : std::span<const TokenId>();
}
std::uint32_t Session::steps() const
{
    return m_state->active ? m_state->active->steps() : 0;
}
std::span<const float> Session::currentLogits() const
{
    return m_state->active ? m_state->active->currentLogits() : std::span<const float>();
}
std::uint64_t Session::activationBytes() const
{
    return m_state->engine.transformer->scratchBytes();
}

} // namespace tokenloupe
