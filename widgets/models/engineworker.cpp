// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/engineworker.h"

#include "engine/session/chatturns.h"

namespace tokenloupe {

namespace {

std::int64_t nowNs()
{
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

QString text(const Error &error)
{
    return QString::fromStdString(error.text());
}

} // namespace

EngineHost::Worker::Worker(EngineHost &host, DeviceSource devices)
    : m_host(host)
    , m_devices(std::move(devices))
    , m_sampler(std::make_shared<SamplerSettings>(SamplerSettings::defaults()))
    , m_lister([this] {
        const DeviceList list = m_devices.list();
        tell([this, list] { m_host.acceptDevices(list); });
    })
    , m_thread([this] { loop(); })
{}

EngineHost::Worker::~Worker()
{
    m_queue.close();
    m_thread.join();
}

void EngineHost::Worker::post(CommandTag tag, std::function<void(std::stop_token)> work,
                              std::function<void()> dropped)
{
    m_queue.post({tag, std::stop_source(), std::move(work), std::move(dropped)});
}

EngineProgress EngineHost::Worker::progress() const
{
    const std::int64_t began = m_workBeganNs.load(std::memory_order_relaxed);
    EngineProgress progress;
    progress.done = m_progress.done.load(std::memory_order_relaxed);
    progress.total = m_progress.total.load(std::memory_order_relaxed);
    progress.seconds = began ? double(nowNs() - began) * 1e-9 : 0.0;
    return progress;
}

// ---- commands (GUI thread) ---------------------------------------------------------------------

void EngineHost::Worker::openModel(const std::filesystem::path &path, const SessionSettings &settings,
                                   const ModelLoadOptions &options)
{
    post(CommandTag::Model, [this, path, settings, options](const std::stop_token &stop) {
        loadNow(path, settings, options, stop);
    });
}

void EngineHost::Worker::closeModel()
{
    post(CommandTag::Model, [this](const std::stop_token &) {
        m_session.reset();
        m_hasRun = false;
        mailbox.clear();
        setState(EngineState::NoModel);
    });
}

void EngineHost::Worker::cancelWork()
{
    m_queue.cancel(
        {CommandTag::Model, CommandTag::Reply, CommandTag::Cache, CommandTag::Measure, CommandTag::Compare});
}

void EngineHost::Worker::reply(const ReplyRequest &request)
{
    m_queue.cancel({CommandTag::Compare}); // what it has shown so far stays
    m_endWanted = false;
    m_wantedSteps = 0;
    const std::uint64_t tag = request.tag;
    post(
        CommandTag::Reply, [this, request](const std::stop_token &stop) { replyNow(request, stop); },
        [this, tag] { tell([this, tag] { Q_EMIT m_host.replyFailed(tag, QString()); }); });
}

void EngineHost::Worker::run()
{
    m_queue.cancel({CommandTag::Compare});
    post(CommandTag::Control, [this](const std::stop_token &) {
        if (canContinue() && (m_state == EngineState::Paused || m_state == EngineState::Idle))
            setState(EngineState::Running);
    });
}

void EngineHost::Worker::pause()
{
    m_wantedSteps = 0;
    post(CommandTag::Control, [this](const std::stop_token &) {
        if (m_state == EngineState::Running)
            setState(EngineState::Paused);
    });
}

void EngineHost::Worker::step()
{
    m_queue.cancel({CommandTag::Compare});
    // Counted rather than queued: three presses are three tokens, though a newer command replaces an older
    // one.
    ++m_wantedSteps;
    post(CommandTag::Control, [this](const std::stop_token &stop) {
        const std::uint32_t wanted = m_wantedSteps.exchange(0);
        if (m_state == EngineState::Running)
            setState(EngineState::Paused);
        const bool ready = m_state == EngineState::Paused || m_state == EngineState::Idle;
        for (std::uint32_t i = 0; i < wanted && ready && canContinue() && !stop.stop_requested(); ++i) {
            if (m_state == EngineState::Idle)
                setState(EngineState::Paused);
            stepNow(std::nullopt, stop);
        }
    });
}

void EngineHost::Worker::stop()
{
    m_endWanted = true;
    m_wantedSteps = 0;
    // Not a model that is being opened: a new chat, which begins with a stop, is no reason to give it up.
    m_queue.cancel({CommandTag::Reply, CommandTag::Control, CommandTag::Force, CommandTag::Branch,
                    CommandTag::Measure, CommandTag::Compare});
    post(CommandTag::Stop, [this](const std::stop_token &) {
        m_endWanted = false;
        if (m_state == EngineState::Running || m_state == EngineState::Paused)
            endRun(EndReason::Cancelled);
    });
}

void EngineHost::Worker::force(StepIndex step, TokenId token)
{
    m_queue.cancel({CommandTag::Compare});
    post(CommandTag::Force,
         [this, step, token](const std::stop_token &stop) { forceNow(step, token, stop); });
}

void EngineHost::Worker::setSampler(std::shared_ptr<const SamplerSettings> settings)
{
    post(CommandTag::Sampler, [this, settings](const std::stop_token &) { m_sampler = settings; });
}

// ---- the engine thread -------------------------------------------------------------------------

void EngineHost::Worker::loop()
{
    while (!m_queue.isClosed()) {
        const bool running = m_state == EngineState::Running;
        auto command = m_queue.next(running ? CommandQueue::Wait::No : CommandQueue::Wait::Yes);
        if (command) {
            command->work(command->stop.get_token());
            m_queue.finished();
        } else if (running) {
            stepNow(std::nullopt, {});
        }
    }
    m_session.reset(); // on the thread that made it
}

void EngineHost::Worker::beginWork(EngineState state)
{
    m_progress.start(0);
    m_workBeganNs.store(nowNs(), std::memory_order_relaxed);
    setState(state);
}

void EngineHost::Worker::loadNow(const std::filesystem::path &path, const SessionSettings &settings,
                                 const ModelLoadOptions &options, const std::stop_token &stop)
{
    if (m_programBytes == 0)
        m_programBytes = processMemory().residentBytes;
    const EngineState before = m_state;
    beginWork(EngineState::Loading);
    const auto fail = [&](const Error &error) {
        setState(before);
        const QString name = QString::fromStdString(path.string());
        const EngineFailure failure = failureOf(error, settings, options);
        tell([this, name, failure] { Q_EMIT m_host.modelFailed(name, failure); });
    };
    auto loaded = loadModel(path, &m_progress, stop, options);
    if (!loaded)
        return fail(loaded.error());
    m_device = settings.device;
    auto session = Session::create(*loaded, fittedTo(**loaded, settings), &m_progress, stop, maker());
    if (!session)
        return fail(session.error());
    // Only now: a file that could not be opened leaves the reply where it was.
    if (before == EngineState::Running || before == EngineState::Paused)
        endRun(EndReason::Cancelled);
    m_session = std::move(*session);
    m_session->measureOperations(m_operationTimes);
    m_hasRun = false;
    m_endedTurns.clear();
    mailbox.clear(); // what the old model's last run left
    tell([this] { m_host.m_modelIsNew = true; });
    setState(EngineState::Idle);
}

std::shared_ptr<const SamplerSettings>
EngineHost::Worker::withRunSeed(std::shared_ptr<const SamplerSettings> settings) const
{
    if (!m_runSeed || settings->seed == *m_runSeed)
        return settings;
    auto seeded = std::make_shared<SamplerSettings>(*settings);
    seeded->seed = *m_runSeed;
    return seeded;
}

void EngineHost::Worker::replyNow(const ReplyRequest &request, const std::stop_token &stop)
{
    const std::uint64_t tag = request.tag;
    const auto fail = [&](const QString &message) {
        setState(m_session ? EngineState::Idle : EngineState::NoModel);
        tell([this, tag, message] { Q_EMIT m_host.replyFailed(tag, message); });
    };
    const auto failFor = [&](const Error &error) {
        const bool isSaid = error.code == ErrorCode::Cancelled || error.code == ErrorCode::DeviceLost;
        fail(isSaid ? QString() : text(error));
        if (error.code == ErrorCode::DeviceLost)
            tellFailed(error);
    };
    if (!m_session)
        return fail(QStringLiteral("no model is open"));
    if (m_state == EngineState::Running || m_state == EngineState::Paused)
        endRun(EndReason::Cancelled);

    beginWork(EngineState::Prefilling);
    m_hasRun = false;
    const auto began = std::chrono::steady_clock::now();
    const auto prompt = chatPrompt(m_session->model(), toJson(request.messages));
    if (!prompt)
        return fail(text(prompt.error()));
    const double tokenizeMs =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();

    m_sampler = request.sampler;
    m_runSeed = request.seed;
    const std::uint64_t seed = request.seed.value_or(request.sampler->seed);
    PromptRequest wanted;
    const std::vector<TokenId> ids = prompt->ids();
    wanted.tokens = ids;
    wanted.seed = seed;
    wanted.withoutTurns = chatWithoutTurns(m_session->sharedModel(), toJson(request.messages));
    auto record = m_session->prefill(wanted, &m_progress, stop);
    if (!record)
        return failFor(record.error());
    record->tag = tag;
    record->tokenizeMs = tokenizeMs;
    record->promptText = std::make_shared<PromptTokens>(*prompt);
    if (record->droppedTurns > 0) {
        const auto shorter = chatPrompt(m_session->model(),
                                        withoutOldestTurns(toJson(request.messages), record->droppedTurns));
        record->promptText = shorter ? std::make_shared<PromptTokens>(*shorter) : nullptr;
    }
    mailbox.post(*record);
    m_hasRun = true;
    m_endedTurns.clear();
    m_runTag = tag;
    m_maxTokens = request.maxTokens;
    m_ignoreEndOfTurn = request.ignoreEndOfTurn;
    if (m_endWanted)
        return endRun(EndReason::Cancelled);
    setState(request.startPaused ? EngineState::Paused : EngineState::Running);
}

void EngineHost::Worker::forceNow(StepIndex step, TokenId token, const std::stop_token &stop)
{
    if (!m_session || !m_hasRun || step.value() > m_session->steps())
        return;
    const bool running = m_state == EngineState::Running;
    if (const Status rewound = m_session->rewind(step); !rewound) {
        setState(isLost() ? EngineState::TraceOnly : m_state);
        tellFailed(rewound.error());
        return;
    }
    mailbox.post(RunTruncated{m_session->run(), step});
    m_endedTurns.erase(m_session->run());
    setState(running ? EngineState::Running : EngineState::Paused);
    stepNow(token, stop);
}

void EngineHost::Worker::stepNow(std::optional<TokenId> forced, const std::stop_token &stop)
{
    StepRequest request;
    request.settings = withRunSeed(m_sampler);
    request.force = forced;
    request.stop = stop;
    auto record = m_session->step(request);
    if (!record) {
        if (record.error().code == ErrorCode::ContextFull)
            return endRun(EndReason::Context);
        if (record.error().code == ErrorCode::Cancelled)
            return endRun(EndReason::Cancelled);
        endRun(EndReason::Cancelled);
        tellFailed(record.error());
        return;
    }
    const bool endsTurn = record->endsTurn && !m_ignoreEndOfTurn;
    mailbox.post(std::move(*record));
    if (endsTurn) {
        m_endedTurns.insert(m_session->run());
        endRun(EndReason::Stop);
    } else if (m_maxTokens > 0 && m_session->steps() == m_maxTokens) {
        // Only at the very token: who goes on after that wants to.
        endRun(EndReason::Length);
    }
    if (m_state == EngineState::Running)
        publishCache(Pictures::Spared);
    else if (m_state == EngineState::Paused)
        publish();
}

void EngineHost::Worker::endRun(EndReason reason)
{
    mailbox.post(RunEnded{m_session->run(), reason});
    setState(EngineState::Idle);
}

void EngineHost::Worker::setState(EngineState state)
{
    const bool rests =
        state == EngineState::Idle || state == EngineState::Paused || state == EngineState::Running;
    m_state = rests && isLost() ? EngineState::TraceOnly : state;
    publish();
}

void EngineHost::Worker::publish()
{
    EngineStatus status;
    status.state = m_state;
    status.operationTimes = m_operationTimes;
    std::shared_ptr<LogitStore> logits;
    if (m_session) {
        status.model = m_session->sharedModel();
        status.session = m_session->settings();
        status.arithmetic = m_session->arithmetic();
        status.plan = m_session->plan();
        status.programBytes = m_programBytes;
        status.kvShape = m_session->cache().shape();
        fillDevice(status);
        status.run = m_session->run();
        status.steps = m_session->steps();
        status.canContinue = canContinue();
        logits = m_session->logits();
    }
    tell([this, status, logits] { m_host.accept(status, logits); });
    publishCache(Pictures::All);
}

} // namespace tokenloupe
