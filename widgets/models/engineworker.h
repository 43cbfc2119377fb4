// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/commandqueue.h"
#include "widgets/models/enginehost.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace tokenloupe {

/// The engine thread: owns the session, executes commands between steps, records into the mailbox. The public
/// calls are made on the GUI thread and return at once; everything private runs on the engine thread.
class EngineHost::Worker
{
public:
    explicit Worker(EngineHost &host);
    ~Worker();

    TraceMailbox mailbox;

    EngineProgress progress() const;
    void openModel(const std::filesystem::path &path, const SessionSettings &settings);
    void closeModel();
    void cancelWork();
    void reply(const ReplyRequest &request);
    void run();
    void pause();
    void step();
    void stop();
    void force(StepIndex step, TokenId token);
    void setSampler(std::shared_ptr<const SamplerSettings> settings);

private:
    void post(CommandTag tag, std::function<void(std::stop_token)> work, std::function<void()> dropped = {});
    void loop();
    void loadNow(const std::filesystem::path &path, const SessionSettings &settings,
                 const std::stop_token &stop);
    void replyNow(const ReplyRequest &request, const std::stop_token &stop);
    void forceNow(StepIndex step, TokenId token, const std::stop_token &stop);
    /// One token; decides what comes after it.
    void stepNow(std::optional<TokenId> forced, const std::stop_token &stop);
    void endRun(EndReason reason);
    void beginWork(EngineState state);
    void setState(EngineState state);
    void publish();
    /// Runs `call` on the GUI thread.
    template <class Call>
    void tell(Call call);
    std::shared_ptr<const SamplerSettings> withRunSeed(std::shared_ptr<const SamplerSettings> settings) const;

    EngineHost &m_host;
    CommandQueue m_queue;
    Progress m_progress;
    std::atomic<std::int64_t> m_workBeganNs{0};
    std::atomic<std::uint32_t> m_wantedSteps{0}; ///< presses of Step that wait for their token
    std::atomic<bool> m_endWanted{false};        ///< Stop was pressed: also ends a prefill

    // engine thread only
    std::unique_ptr<Session> m_session;
    EngineState m_state = EngineState::NoModel;
    std::uint64_t m_programBytes = 0; ///< before the first model
    std::shared_ptr<const SamplerSettings> m_sampler;
    std::optional<std::uint64_t> m_runSeed; ///< replaces the settings' seed during this run
    std::uint32_t m_maxTokens = 0;
    bool m_ignoreEndOfTurn = false;
    bool m_hasRun = false;
    bool m_turnEnded = false; ///< the last token ended the model's turn: nothing to continue

    std::jthread m_thread; // last: starts when all else is there
};

} // namespace tokenloupe
