// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/session.h"

#include "engine/compute/packedweights.h"
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

Status checkCacheUse(CacheUse use, OverflowPolicy overflow)
{
    if (use == CacheUse::Recompute && overflow == OverflowPolicy::Streaming)
        return makeError(ErrorCode::InvalidArgument, "no cache",
                         "a streaming context cannot be computed anew: tokens that were dropped left their "
                         "mark on the later ones; choose another overflow policy");
    return {};
}

/// Streaming needs the blocks that stay, one to drop and one to write.
Status checkBlocks(const SessionSettings &settings)
{
    if (settings.blockTokens == 0 || settings.blockTokens > 1024)
        return makeError(ErrorCode::InvalidArgument, "KV blocks",
                         "1 to 1024 tokens, not " + std::to_string(settings.blockTokens));
    if (settings.sequences == 0 || settings.sequences > 1024)
        return makeError(ErrorCode::InvalidArgument, "sequences",
                         "1 to 1024, not " + std::to_string(settings.sequences));
    const std::uint64_t sinks = (std::uint64_t(settings.sinkTokens) + settings.blockTokens - 1) /
                                settings.blockTokens * settings.blockTokens;
    if (settings.overflow == OverflowPolicy::Streaming &&
        settings.contextTokens < sinks + 2 * std::uint64_t(settings.blockTokens))
        return makeError(ErrorCode::InvalidArgument, "streaming",
                         "a context of " + std::to_string(settings.contextTokens) +
                             " tokens leaves no window beside the first " + std::to_string(sinks) +
                             " and a block of " + std::to_string(settings.blockTokens));
    return {};
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
    if (Status good = checkBlocks(settings); !good)
        return tl::unexpected(good.error());
    if (Status good = checkCacheUse(settings.cacheUse, settings.overflow); !good)
        return tl::unexpected(good.error());
    return settings;
}

/// Blocks can only leave the middle of a sequence when keys are not bound to their positions.
KeyPhase keyPhaseOf(OverflowPolicy policy)
{
    return policy == OverflowPolicy::Streaming ? KeyPhase::Unrotated : KeyPhase::Rotated;
}

RunArithmetic arithmeticOf(const SessionSettings &settings)
{
    return {settings.precision, settings.keyType, settings.valueType, keyPhaseOf(settings.overflow)};
}

RunMemorySettings memorySettings(const LoadedModel &model, const SessionSettings &settings,
                                 const PackingPlan &packing)
{
    RunMemorySettings memory;
    memory.contextTokens = settings.contextTokens;
    memory.batchTokens = settings.batchTokens;
    memory.keyType = settings.keyType;
    memory.valueType = settings.valueType;
    memory.blockTokens = settings.blockTokens;
    memory.sequences = settings.sequences;
    memory.keyPhase = keyPhaseOf(settings.overflow);
    memory.traceBudgetBytes = settings.logitBudgetBytes;
    memory.threads = static_cast<std::uint32_t>(settings.threads);
    memory.vocabulary = vocabularyFacts(*model.model);
    memory.packedBytes = packing.packedBytes;
    memory.quantizedBytes = quantizedBytesBeside(*model.model, packing);
    return memory;
}

/// What the weights will look like in memory.
PackingPlan packing(const Model &model, const SessionSettings &settings)
{
    return settings.precision == Precision::Fast ? packingPlan(model) : PackingPlan();
}

Result<MemoryPlan> planFor(const Model &model, const PackingPlan &packing, const RunMemorySettings &memory)
{
    return planMemory(model.config(), model.weightsBytes() - packing.fileBytes + packing.packedBytes, memory);
}

/// What is anonymous memory of the plan must fit this machine: weights that are neither packed nor quantised
/// are a mapping of their file.
Status fitsMachine(const MemoryPlan &plan, const SessionSettings &settings, const RunMemorySettings &memory)
{
    const std::uint64_t wanted =
        plan.total() - plan.bytesOf(MemoryPart::Weights) + memory.packedBytes + memory.quantizedBytes;
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

Result<MemoryPlan> sessionPlan(const LoadedModel &model, const SessionSettings &settings)
{
    const auto complete = completed(settings, model.config());
    if (!complete)
        return tl::unexpected(complete.error());
    const PackingPlan packed = packing(*model.model, *complete);
    return planFor(*model.model, packed, memorySettings(model, *complete, packed));
}

SessionSettings fittedTo(const LoadedModel &model, SessionSettings settings)
{
    const ModelConfig &config = model.config();
    if (!checkKvType(settings.keyType, config.headSize, "key"))
        settings.keyType = KvType::F16;
    if (!checkKvType(settings.valueType, config.valueHeadSize, "value"))
        settings.valueType = KvType::F16;
    if (!completed(settings, config))
        settings.overflow = OverflowPolicy::Stop;
    const auto complete = completed(settings, config);
    const auto plan = sessionPlan(model, settings);
    if (complete &&
        (!plan ||
         !fitsMachine(*plan, *complete, memorySettings(model, *complete, packing(*model.model, *complete)))))
        settings.contextTokens = 0;
    return settings;
}

Session::Session(std::unique_ptr<State> state)
    : m_state(std::move(state))
{}

Session::~Session() = default;

Status Session::State::build(const SessionSettings &settings, Progress *progress, const std::stop_token &stop)
{
    const ModelConfig &config = model->config();
    const auto complete = completed(settings, config);
    if (!complete)
        return tl::unexpected(complete.error());
    SessionSettings own = *complete;

    const PackingPlan packed = packing(*model->model, own);
    const RunMemorySettings memory = memorySettings(*model, own, packed);
    auto newPlan = planFor(*model->model, packed, memory);
    if (!newPlan)
        return tl::unexpected(newPlan.error());
    if (Status fits = fitsMachine(*newPlan, own, memory); !fits)
        return fits;
    auto newBackend = makeCpuBackend(own.threads);
    if (!newBackend)
        return tl::unexpected(newBackend.error());
    own.threads = (*newBackend)->threads();
    if (Status ready = (*newBackend)->prepare(model->model, own.precision, progress, stop); !ready)
        return ready;
    auto transformer = Transformer::create(model->model, *newBackend, own.batchTokens, progress, stop);
    if (!transformer)
        return tl::unexpected(transformer.error());
    KvCacheSettings room;
    room.shape = kvShape(config, memory);
    room.contextTokens = own.contextTokens;
    room.sequences = own.sequences;
    room.batchTokens = own.batchTokens;
    room.keyPhase = memory.keyPhase;
    auto cache = KvCache::create(room);
    if (!cache)
        return tl::unexpected(cache.error());

    // All of it is there: what was before ends now.
    endRuns();
    if (!engine.logits || own.logitBudgetBytes != engine.settings.logitBudgetBytes)
        engine.logits = std::make_shared<LogitStore>(own.logitBudgetBytes);
    engine.settings = own;
    engine.cache = std::make_unique<KvCache>(std::move(*cache));
    engine.transformer = std::move(*transformer);
    backend = std::move(*newBackend);
    plan = std::move(*newPlan);
    return {};
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const LoadedModel> model,
                                                 const SessionSettings &settings, Progress *progress,
                                                 std::stop_token stop)
{
    auto state = std::make_unique<State>();
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
    const auto row = run->feed(progress, stop);
    if (!row)
        return tl::unexpected(row.error());
    run->take(*row);
    run->logitsReady = true;
    run->stepForwardMs.push_back(0.0);

    RunRecord record;
    record.run = run->id();
    record.prompt.assign(run->history().begin(), run->history().end());
    record.reusedTokens = reused;
    record.prefilledTokens = run->promptTokens() - reused;
    record.droppedTurns = run->droppedTurns();
    record.droppedTokens = run->takeDropped().tokens;
    run->takeComputed();
    record.seed = prompt.seed;
    record.arithmetic = arithmeticOf(s.engine.settings);
    record.prefillMs = watch.lap();
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
    record.arithmetic = arithmeticOf(s.engine.settings);
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
const Backend &Session::backend() const
{
    return *m_state->backend;
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
