// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/commandqueue.h"
#include "widgets/models/enginehost.h"

#include <QMetaObject>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <thread>

namespace tokenloupe {

/// The engine thread: owns the session, executes commands between steps, records into the mailbox. The public
/// calls are made on the GUI thread and return at once; everything private runs on the engine thread.
class EngineHost::Worker
{
public:
    Worker(EngineHost &host, DeviceSource devices);
    ~Worker();

    TraceMailbox mailbox;

    EngineProgress progress() const;
    void openModel(const std::filesystem::path &path, const SessionSettings &settings,
                   const ModelLoadOptions &options);
    void closeModel();
    void cancelWork();
    void reply(const ReplyRequest &request);
    void run();
    void pause();
    void step();
    void stop();
    void force(StepIndex step, TokenId token);
    void setSampler(std::shared_ptr<const SamplerSettings> settings);
    void configure(const SessionSettings &settings);
    void setCacheUse(CacheUse use);
    void measureOperations(Measuring measuring);
    void branch(StepIndex step);
    void activate(RunId run);
    void measureWithoutCache(const RunRecord &start, const std::vector<StepRecord> &steps);
    void comparePrecisions(const CompareRequest &request);

private:
    void post(CommandTag tag, std::function<void(std::stop_token)> work, std::function<void()> dropped = {});
    void loop();
    /// Makes what the settings that are in work ask for.
    BackendMaker maker();
    Status reconfigure(const SessionSettings &settings, Progress *progress, const std::stop_token &stop);
    void fillDevice(EngineStatus &status) const;
    void tellFailed(const Error &error);
    void tellNotConfigured(const Error &error, const SessionSettings &wanted);
    bool isLost() const { return m_session && m_session->isDeviceLost(); }
    void loadNow(const std::filesystem::path &path, const SessionSettings &settings,
                 const ModelLoadOptions &options, const std::stop_token &stop);
    void replyNow(const ReplyRequest &request, const std::stop_token &stop);
    void configureNow(const SessionSettings &settings, const std::stop_token &stop);
    void branchNow(StepIndex step);
    void activateNow(RunId run);
    void measureNow(const RunRecord &start, const std::vector<StepRecord> &steps,
                    const std::stop_token &stop);
    void compareNow(const CompareRequest &request, const std::stop_token &stop);
    void forceNow(StepIndex step, TokenId token, const std::stop_token &stop);
    /// One token; decides what comes after it.
    void stepNow(std::optional<TokenId> forced, const std::stop_token &stop);
    void endRun(EndReason reason);
    bool turnEnded() const { return m_session && m_endedTurns.count(m_session->run()) > 0; }
    bool canContinue() const { return m_hasRun && !turnEnded() && !isLost(); }
    void beginWork(EngineState state);
    void setState(EngineState state);
    void publish();
    /// A picture of the cache for the window, unless the one before was just made or still waits there.
    enum class Pictures : bool { Spared, All };
    void publishCache(Pictures pictures);
    /// Runs `call` on the GUI thread.
    template <class Call>
    void tell(Call call)
    {
        // The host outlives this object; calls that it has not yet received die with it.
        QMetaObject::invokeMethod(&m_host, std::move(call), Qt::QueuedConnection);
    }
    std::shared_ptr<const SamplerSettings> withRunSeed(std::shared_ptr<const SamplerSettings> settings) const;

    EngineHost &m_host;
    const DeviceSource m_devices;
    CommandQueue m_queue;
    Progress m_progress;
    std::atomic<std::int64_t> m_workBeganNs{0};
    std::atomic<std::uint32_t> m_wantedSteps{0}; ///< presses of Step that wait for their token
    std::atomic<bool> m_endWanted{false};        ///< Stop was pressed: also ends a prefill

    // engine thread only
    std::string m_device; ///< that the settings in work ask for
    Measuring m_operationTimes = Measuring::Off;
    std::unique_ptr<Session> m_session;
    EngineState m_state = EngineState::NoModel;
    std::uint64_t m_programBytes = 0; ///< before the first model
    std::shared_ptr<const SamplerSettings> m_sampler;
    std::optional<std::uint64_t> m_runSeed; ///< replaces the settings' seed during this run
    std::uint32_t m_maxTokens = 0;
    bool m_ignoreEndOfTurn = false;
    bool m_hasRun = false;
    std::set<RunId> m_endedTurns; ///< open runs whose last token ended the model's turn: nothing to continue
    std::uint64_t m_runTag = 0;   ///< of the request that the open runs came from
    std::int64_t m_pictureNs = 0; ///< when the cache was last pictured
    std::shared_ptr<std::atomic<bool>> m_pictureWaits =
        std::make_shared<std::atomic<bool>>(false); ///< in the window's queue

    std::jthread m_lister; // asks for devices, which may take as long as starting a driver
    std::jthread m_thread; // last: starts when all else is there
};

} // namespace tokenloupe
