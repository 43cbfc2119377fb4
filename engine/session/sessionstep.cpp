// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/stepreads.h"
#include "engine/sampling/candidateset.h"
#include "engine/session/session.h"
#include "engine/session/sessionstate.h"

#include <cassert>

namespace tokenloupe {

namespace {

constexpr std::uint32_t residentEverySteps = 16; // reading it costs a system call

/// Passes everything on and notes the probability of one token at the draw (0 when a stage removed it).
class ProbabilityOf : public ChainRecorder
{
public:
    ProbabilityOf(TokenId token, ChainRecorder *next)
        : m_token(token)
        , m_next(next)
    {}

    double probability() const { return m_probability; }

    void begin(std::span<const float> logits) override
    {
        if (m_next)
            m_next->begin(logits);
    }
    void afterStage(const StageSettings &stage, const CandidateSet &set, double microseconds) override
    {
        if (m_next)
            m_next->afterStage(stage, set, microseconds);
    }
    void beforeDraw(const CandidateSet &survivors, const SoftmaxWeights &weights) override
    {
        if (const auto logit = survivors.logitOf(m_token))
            m_probability = weights.probabilityOf(*logit);
        if (m_next)
            m_next->beforeDraw(survivors, weights);
    }
    void drawn(const DrawResult &result) override
    {
        if (m_next)
            m_next->drawn(result);
    }

private:
    TokenId m_token;
    ChainRecorder *m_next = nullptr;
    double m_probability = 0.0;
};

} // namespace

std::shared_ptr<const SamplerSettings>
Session::State::withSeed(const std::shared_ptr<const SamplerSettings> &given)
{
    const std::uint64_t seed = active->seed;
    if (given->seed == seed)
        return given;
    if (given != givenSettings || seededSettings->seed != seed) {
        auto copy = std::make_shared<SamplerSettings>(*given);
        copy->seed = seed;
        seededSettings = std::move(copy);
        givenSettings = given;
    }
    return seededSettings;
}

void Session::State::forgetTimes() const
{
    if (measuring == Measuring::On)
        (void)takeOperationTimes();
}

PassCost Session::State::costOf(double ms, std::uint32_t computedTokens) const
{
    PassCost cost;
    cost.ms = ms;
    if (measuring == Measuring::On)
        cost.operations = takeOperationTimes();
    if (computedTokens == 1)
        cost.readBytes =
            tokenWeightBytes + kvBytesRead(engine.cache->shape(), engine.cache->tokens(active->sequence()));
    return cost;
}

void Session::State::record(StepRecord &step, std::span<const float> row,
                            const LogitStatistics &statistics) const
{
    const SequenceId sequence = active->sequence();
    step.ref = {active->id(), StepIndex(active->steps())};
    step.endsTurn =
        step.token.value() < model->tokenizer->size() && model->tokenizer->isEndOfTurn(step.token);
    step.position = static_cast<std::uint32_t>(active->history().size());
    step.logit = row[step.token.value()];
    step.pRaw = statistics.probabilityOf(step.logit);
    step.rank = rankOf(row, step.token);
    step.entropyBits = statistics.entropyBits;
    step.logSumExp = statistics.logSumExp;
    step.kvTokens = engine.cache->tokens(sequence);
    step.kvBlocks = engine.cache->usedBlocks(sequence);
    step.kvBytes = engine.cache->usedBytes(sequence);
    step.computedTokens = active->takeComputed();
    const SessionRun::Dropped dropped = active->takeDropped();
    step.droppedTokens = dropped.tokens;
    step.droppedTurns = dropped.turns;
}

Result<StepRecord> Session::step(const StepRequest &request)
{
    State &s = *m_state;
    assert(s.isOwnThread());
    assert(request.settings);
    if (!s.active)
        return makeError(ErrorCode::InvalidArgument, "step", "there is no prompt yet");
    if (request.force) {
        if (Status known = s.checkTokens({&*request.force, 1}, "force"); !known)
            return tl::unexpected(known.error());
    }
    if (request.stop.stop_requested())
        return makeError(ErrorCode::Cancelled, "step", "cancelled");

    SessionRun &run = *s.active;
    StepRecord record;
    record.settings = s.withSeed(request.settings);
    Stopwatch watch;
    PassCost cost;
    LogitStore::Space space; // of the row to come
    std::span<const float> row = run.currentLogits();
    std::optional<LogitStatistics> known; // of the row, where the device has them
    if (run.logitsReady) {
        cost = run.stepCosts.back();
    } else {
        run.forgetLast();
        s.forgetTimes();
        if (s.engine.settings.logitBudgetBytes > 0)
            space = s.engine.logits->space(s.model->config().vocabulary);
        const auto forwarded = run.feed(nullptr, request.stop, space.floats());
        if (!forwarded)
            return tl::unexpected(forwarded.error());
        row = *forwarded;
        known = s.backend->takeStatistics();
        cost = s.costOf(watch.lap(), run.justComputed());
    }
    record.forwardMs = cost.ms;
    record.operations = cost.operations;
    record.readBytes = cost.readBytes;

    watch.lap();
    const TokenId forced = request.force.value_or(TokenId());
    ProbabilityOf probability(forced, request.recorder);
    const SamplingContext context{run.history(), run.steps()};
    const auto drawn =
        SamplerChain(record.settings).run(row, context, request.force ? &probability : request.recorder);
    const auto statistics = !drawn  ? tl::unexpected(drawn.error())
                            : known ? Result<LogitStatistics>(*known)
                                    : logitStatistics(row);
    if (!statistics) {
        if (!run.logitsReady)
            run.forgetLast();
        return tl::unexpected(statistics.error());
    }
    record.token = request.force ? forced : drawn->token;
    record.origin = request.force ? TokenOrigin::Forced : TokenOrigin::Drawn;
    record.u = drawn->u;
    record.p = request.force ? probability.probability() : drawn->probability;
    s.record(record, row, *statistics);
    record.sampleMs = watch.lap();

    LogitStore::Row stored;
    if (s.engine.settings.logitBudgetBytes > 0)
        stored = space.floats().empty() ? s.engine.logits->put(record.ref, row)
                                        : s.engine.logits->keep(record.ref, std::move(space));
    if (!run.logitsReady) {
        if (stored)
            run.take(std::move(stored));
        else
            run.take(row);
        run.stepCosts.push_back(cost);
    }
    run.logitsReady = false;
    run.push(record.token);
    if (record.ref.step.value() % residentEverySteps == 0)
        record.residentBytes = processMemory().residentBytes;
    record.otherMs = watch.lap();
    return record;
}

} // namespace tokenloupe
