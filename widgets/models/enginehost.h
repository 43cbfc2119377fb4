// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/session.h"
#include "engine/trace/tracemailbox.h"

#include <QObject>
#include <QString>
#include <memory>
#include <optional>
#include <vector>

namespace tokenloupe {

enum class EngineState { NoModel, Loading, Idle, Prefilling, Running, Paused };

/// What the engine says about itself; an immutable value that replaces the one before.
struct EngineStatus
{
    EngineState state = EngineState::NoModel;
    std::shared_ptr<const LoadedModel> model;
    SessionSettings session; ///< with defaults filled in
    MemoryPlan plan;
    std::uint64_t programBytes = 0; ///< resident set of the process before the first model was opened
    QString device;                 ///< "CPU AVX-512"
    int threads = 0;
    KvShape kvShape;
    RunId run;                ///< the run that prefill, run and step work on
    std::uint32_t steps = 0;  ///< drawn in it
    bool canContinue = false; ///< paused or ended in a way that step/run can go on from
};

/// Progress of the long work that is under way, in its own units.
struct EngineProgress
{
    std::uint64_t done = 0;
    std::uint64_t total = 0;
    double seconds = 0.0; ///< since it began
};

/// A reply to be made. The engine thread renders and tokenises, so that a slow template never holds the
/// window.
struct ReplyRequest
{
    std::uint64_t tag = 0; ///< comes back in RunRecord::tag and replyFailed()
    std::vector<ChatMessage> messages;
    std::optional<std::uint64_t> seed; ///< replaces the sampler's
    std::shared_ptr<const SamplerSettings> sampler;
    std::uint32_t maxTokens = 0; ///< 0: until end of turn or context
    bool startPaused = false;    ///< prefill, then wait for step() or run()
    bool ignoreEndOfTurn = false;
};

/// The engine thread and its commands. Every call returns at once; a command with the tag of a waiting one
/// replaces it. Results come as signals on the GUI thread; records go through the mailbox.
class EngineHost : public QObject
{
    Q_OBJECT

public:
    explicit EngineHost(QObject *parent = nullptr);
    ~EngineHost() override; ///< stops and joins the thread

    TraceMailbox &mailbox();
    const EngineStatus &status() const { return m_status; }
    EngineProgress progress() const; ///< reads atomics
    /// Raw logits of steps; null without a model. May be read from any thread.
    std::shared_ptr<LogitStore> logits() const { return m_logits; }

    void openModel(const QString &path,
                   const SessionSettings &settings); ///< keeps the present model until it is loaded
    void closeModel();
    void cancelWork(); ///< loading or prefill
    void reply(const ReplyRequest &request);
    void run();   ///< go on from paused
    void pause(); ///< after the present token
    void step();  ///< one token, then paused
    void stop();  ///< end the reply
    /// Takes `token` instead of what `step` of the present run drew; later tokens of the run are dropped.
    /// Then paused, or running on when it was.
    void force(StepIndex step, TokenId token);
    void setSampler(std::shared_ptr<const SamplerSettings> settings); ///< from the next token on

Q_SIGNALS:
    void statusChanged();
    void modelOpened();
    void modelFailed(const QString &path,
                     const QString &message);              ///< the present model stays; empty: cancelled
    void replyFailed(quint64 tag, const QString &message); ///< no run came of the request; empty: cancelled
    void failed(const QString &message);                   ///< a run could not go on

private:
    class Worker;
    void accept(const EngineStatus &status, std::shared_ptr<LogitStore> logits);

    std::unique_ptr<Worker> m_worker;
    EngineStatus m_status;
    std::shared_ptr<LogitStore> m_logits;
    bool m_modelIsNew = false; ///< the next status belongs to a model that was just opened
};

} // namespace tokenloupe
