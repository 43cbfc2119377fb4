// SPDX-License-Identifier: GPL-3.0-or-later
// Commands about the cache: settings, branches, what a run costs without it.
#include "widgets/models/engineworker.h"

#include "engine/memory/stepwork.h"

#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr std::int64_t pictureIntervalNs = 60'000'000;

std::int64_t nowNs()
{
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

/// The largest difference of two rows of logits; those that are infinite in both do not count.
float largestDifference(std::span<const float> a, std::span<const float> b)
{
    float largest = 0.0F;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        if (a[i] != b[i])
            largest = std::max(largest, std::abs(a[i] - b[i]));
    }
    return largest;
}

} // namespace

// ---- commands (GUI thread) ---------------------------------------------------------------------

void EngineHost::Worker::configure(const SessionSettings &settings)
{
    m_queue.cancel({CommandTag::Reply, CommandTag::Control, CommandTag::Force, CommandTag::Measure,
                    CommandTag::Compare});
    post(
        CommandTag::Cache, [this, settings](const std::stop_token &stop) { configureNow(settings, stop); },
        [this] { tell([this] { Q_EMIT m_host.configureFailed(EngineFailure()); }); });
}

void EngineHost::Worker::setCacheUse(CacheUse use)
{
    post(CommandTag::Cache, [this, use](const std::stop_token &) {
        if (!m_session)
            return;
        if (const Status set = m_session->setCacheUse(use); !set) {
            SessionSettings wanted = m_session->settings();
            wanted.cacheUse = use;
            tellNotConfigured(set.error(), wanted);
            return;
        }
        publish();
        tell([this] { Q_EMIT m_host.configured(); });
    });
}

void EngineHost::Worker::branch(StepIndex step)
{
    post(CommandTag::Branch, [this, step](const std::stop_token &) { branchNow(step); });
}

void EngineHost::Worker::activate(RunId run)
{
    post(CommandTag::Branch, [this, run](const std::stop_token &) { activateNow(run); });
}

void EngineHost::Worker::measureWithoutCache(const RunRecord &start, const std::vector<StepRecord> &steps)
{
    post(CommandTag::Measure,
         [this, start, steps](const std::stop_token &stop) { measureNow(start, steps, stop); });
}

// ---- the engine thread -------------------------------------------------------------------------

void EngineHost::Worker::configureNow(const SessionSettings &settings, const std::stop_token &stop)
{
    if (!m_session)
        return;
    if (m_state == EngineState::Running || m_state == EngineState::Paused)
        endRun(EndReason::Cancelled);
    // Weights that have to be laid out anew take as long as opening the model.
    const SessionSettings &now = m_session->settings();
    const bool packs = settings.precision == Precision::Fast && now.precision != Precision::Fast;
    const bool moves = settings.backend != now.backend || settings.device != now.device ||
                       settings.deviceLayers != now.deviceLayers;
    const bool loads = packs || moves;
    if (loads)
        beginWork(EngineState::Loading);
    if (const Status done = reconfigure(settings, loads ? &m_progress : nullptr, stop); !done) {
        m_hasRun = m_hasRun && !m_session->openRuns().empty(); // the old cache may have had to go first
        setState(EngineState::Idle);
        tellNotConfigured(done.error(), settings);
        return;
    }
    m_hasRun = false;
    m_endedTurns.clear();
    setState(EngineState::Idle);
    tell([this] { Q_EMIT m_host.configured(); });
}

void EngineHost::Worker::tellNotConfigured(const Error &error, const SessionSettings &wanted)
{
    const EngineFailure failure = failureOf(error, wanted, m_session->model().options);
    tell([this, failure] { Q_EMIT m_host.configureFailed(failure); });
}

void EngineHost::Worker::branchNow(StepIndex step)
{
    if (!m_session || !m_hasRun || step.value() >= m_session->steps())
        return;
    const RunId parent = m_session->run();
    const std::uint64_t seed = m_runSeed.value_or(m_sampler->seed);
    auto record = m_session->fork(step, seed);
    if (!record) {
        setState(isLost() ? EngineState::TraceOnly : m_state);
        tellFailed(record.error());
        return;
    }
    if (m_state == EngineState::Running || m_state == EngineState::Paused)
        mailbox.post(RunEnded{parent, EndReason::Cancelled});
    record->tag = m_runTag;
    mailbox.post(std::move(*record));
    setState(EngineState::Paused);
}

void EngineHost::Worker::activateNow(RunId run)
{
    if (!m_session || !m_hasRun || m_session->run() == run)
        return;
    const RunId before = m_session->run();
    if (!m_session->activate(run))
        return; // it ended meanwhile, and the window learns of it
    if (m_state == EngineState::Running || m_state == EngineState::Paused)
        mailbox.post(RunEnded{before, EndReason::Cancelled});
    mailbox.post(RunActivated{run});
    setState(EngineState::Idle);
}

void EngineHost::Worker::measureNow(const RunRecord &start, const std::vector<StepRecord> &steps,
                                    const std::stop_token &stop)
{
    if (!m_session || steps.empty() || m_state == EngineState::Running)
        return;
    const EngineState before = m_state;
    beginWork(EngineState::Measuring);
    m_progress.start(steps.size());
    CacheWork work;
    work.run = start.run;
    std::vector<TokenId> tokens = start.prompt;
    const ModelConfig &config = m_session->model().config();
    for (const StepRecord &step : steps) {
        const std::int64_t began = nowNs();
        const auto row = m_session->computeAfresh(tokens, stop);
        if (!row) {
            if (row.error().code != ErrorCode::Cancelled)
                tellFailed(row.error());
            break;
        }
        const bool isFirst = step.ref.step.value() == 0;
        work.uncachedMs.push_back(double(nowNs() - began) * 1e-6);
        work.cachedMs.push_back(isFirst ? start.prefillMs : step.forwardMs);
        work.uncachedFlops.push_back(stepWork(config, 0, tokens.size()).total());
        work.cachedFlops.push_back(isFirst
                                       ? stepWork(config, start.reusedTokens, start.prefilledTokens).total()
                                       : stepWork(config, tokens.size() - 1, 1).total());
        if (const LogitStore::Row stored = m_session->logits()->get(step.ref))
            work.largestDifference = std::max(work.largestDifference, largestDifference(*row, *stored));
        if (step.origin == TokenOrigin::Drawn) {
            const auto drawn = SamplerChain(step.settings).run(*row, {tokens, step.ref.step.value()});
            work.sameTokens = work.sameTokens && drawn && drawn->token == step.token;
        }
        tokens.push_back(step.token);
        work.complete = work.uncachedMs.size() == steps.size();
        m_progress.advance(1);
        auto shown = std::make_shared<const CacheWork>(work);
        tell([this, shown] { m_host.acceptWork(shown); });
    }
    setState(before);
}

void EngineHost::Worker::publishCache(Pictures pictures)
{
    if (!m_session) {
        tell([this] { m_host.acceptCache(nullptr); });
        return;
    }
    const std::int64_t now = nowNs();
    if (pictures == Pictures::Spared &&
        (now - m_pictureNs < pictureIntervalNs || m_pictureWaits->load(std::memory_order_relaxed)))
        return;
    m_pictureNs = now;
    m_pictureWaits->store(true, std::memory_order_relaxed);
    tell([this, picture = m_session->cacheSnapshot(), waits = m_pictureWaits] {
        waits->store(false, std::memory_order_relaxed);
        m_host.acceptCache(picture);
    });
}

} // namespace tokenloupe
