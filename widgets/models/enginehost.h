// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/cachesnapshot.h"
#include "engine/compare/positioncomparison.h"
#include "engine/session/session.h"
#include "engine/trace/tracemailbox.h"
#include "widgets/models/devicesource.h"
#include "widgets/models/enginefailure.h"

#include <QObject>
#include <QString>
#include <memory>
#include <optional>
#include <vector>

namespace tokenloupe {

/// Measuring: steps of a run are computed anew, without the cache. Comparing: in both precisions. TraceOnly:
/// the device is lost; what was recorded stays, and other settings or another model lead on.
enum class EngineState {
    NoModel,
    Loading,
    Idle,
    Prefilling,
    Running,
    Paused,
    Measuring,
    Comparing,
    TraceOnly
};

/// What the engine says about itself; an immutable value that replaces the one before.
struct EngineStatus
{
    EngineState state = EngineState::NoModel;
    std::shared_ptr<const LoadedModel> model;
    SessionSettings session;  ///< with defaults filled in
    RunArithmetic arithmetic; ///< of a run that would start now
    MemoryPlan plan;
    std::uint64_t programBytes = 0; ///< resident set of the process before the first model was opened
    QString device;                 ///< "CPU AVX-512", "NVIDIA H200"
    std::optional<std::uint32_t> deviceLayers; ///< that it computes, where it is not all of the model
    int threads = 0;                           ///< of the CPU, where it computes something
    QString
        fallbackReason; ///< why the CPU runs though a device was asked for; empty: what was asked for runs
    QString remark;     ///< of the backend: something that works less well than it could
    double deviceBytesPerSecond = 0.0;           ///< of the device's memory; 0: not known
    std::optional<DeviceNeeds> deviceNeeds;      ///< none: the CPU
    std::optional<DeviceMemoryUse> deviceMemory; ///< as measured when this was said
    Measuring operationTimes = Measuring::Off;
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

/// What the steps of a run cost with the cache, and computed anew with nothing kept. Per step; the steps that
/// were recomputed so far.
struct CacheWork
{
    RunId run;
    std::vector<double> cachedMs, uncachedMs;
    std::vector<double> cachedFlops, uncachedFlops; ///< multiply-adds, by formula
    bool complete = false;                          ///< every step of the run was recomputed
    float largestDifference = 0.0F;                 ///< of a logit, over all steps
    bool sameTokens = true;                         ///< the recomputed logits draw the same tokens
};

enum class ComparedPositions : std::uint8_t { Last, All };

/// A text to be computed in both precisions.
struct CompareRequest
{
    RunId run;                   ///< that it is the text of
    RunArithmetic arithmetic;    ///< of that run
    std::vector<TokenId> tokens; ///< from the first of the prompt on
    ComparedPositions positions = ComparedPositions::Last;
    StepRef kept; ///< Last: the step whose logits these are, kept as the text alone gives them; else invalid
};

/// What came of it, in one piece or several.
struct ComparedText
{
    RunId run;
    std::shared_ptr<const std::vector<TokenId>> tokens; ///< of the request
    std::uint32_t first = 0;                            ///< position of positions[0]: the logits after it
    std::vector<std::shared_ptr<const PositionComparison>> positions;
};

/// The engine thread and its commands. Every call returns at once; a command with the tag of a waiting one
/// replaces it. Results come as signals on the GUI thread; records go through the mailbox.
class EngineHost : public QObject
{
    Q_OBJECT

public:
    explicit EngineHost(DeviceSource devices = cpuAlone(), QObject *parent = nullptr);
    ~EngineHost() override; ///< stops and joins the thread

    TraceMailbox &mailbox();
    const EngineStatus &status() const { return m_status; }
    EngineProgress progress() const; ///< reads atomics
    /// What can compute beside the CPU; nothing, and no reason, until the engine thread has looked.
    const DeviceList &devices() const { return m_devices; }
    /// Raw logits of steps; null without a model. May be read from any thread.
    std::shared_ptr<LogitStore> logits() const { return m_logits; }

    /// The newest picture of the cache; null without a model.
    std::shared_ptr<const CacheSnapshot> cache() const { return m_cache; }
    std::shared_ptr<const CacheWork> cacheWork() const { return m_cacheWork; }

    /// Keeps the present model until it is loaded.
    void openModel(const QString &path, const SessionSettings &settings,
                   const ModelLoadOptions &options = {});
    void closeModel();
    /// Other settings for the model that is open: runs end, the cache is empty, the trace stays.
    void configure(const SessionSettings &settings);
    void cancelWork(); ///< loading, prefill, measuring or comparing
    void reply(const ReplyRequest &request);
    void run();   ///< go on from paused
    void pause(); ///< after the present token
    void step();  ///< one token, then paused
    void stop();  ///< end the reply
    /// Takes `token` instead of what `step` of the present run drew; later tokens of the run are dropped.
    /// Then paused, or running on when it was.
    void force(StepIndex step, TokenId token);
    void setSampler(std::shared_ptr<const SamplerSettings> settings); ///< from the next token on
    void setCacheUse(CacheUse use);                                   ///< from the next token on
    void measureOperations(Measuring measuring);                      ///< from the next token on
    /// A branch off the present run before `step`; paused there. Its RunRecord carries the run's tag.
    void branch(StepIndex step);
    void activate(RunId run); ///< another open run is the one that run(), step() and force() work on
    /// Recomputes the run's steps with nothing kept; progress() tells how far, cancelWork() stops it.
    void measureWithoutCache(const RunRecord &start, const std::vector<StepRecord> &steps);
    /// Computes a text in both precisions, in sessions of its own: the present one is not touched. Not while
    /// a reply runs. progress() counts tokens of the passes, cancelWork() stops it.
    void comparePrecisions(const CompareRequest &request);

Q_SIGNALS:
    void statusChanged();
    void modelOpened();
    /// The present model stays.
    void modelFailed(const QString &path, const tokenloupe::EngineFailure &failure);
    void replyFailed(quint64 tag, const QString &message); ///< no run came of the request; empty: cancelled
    void failed(const QString &message);                   ///< a run could not go on
    void deviceLost(const QString &message);               ///< nothing more can be computed with this session
    void devicesChanged();
    void configured();                                              ///< other settings are in force
    void configureFailed(const tokenloupe::EngineFailure &failure); ///< the ones before stay
    void cacheChanged();     ///< at most every 60 ms while running, and at every stop
    void cacheWorkChanged(); ///< after every step that was measured
    void precisionsCompared(const tokenloupe::ComparedText &part); ///< as they come
    void comparisonEnded(const QString &message); ///< after the last part; empty: it is done or cancelled

private:
    class Worker;
    void accept(const EngineStatus &status, std::shared_ptr<LogitStore> logits);
    void acceptCache(std::shared_ptr<const CacheSnapshot> cache);
    void acceptDevices(const DeviceList &devices);
    void acceptWork(std::shared_ptr<const CacheWork> work);

    std::unique_ptr<Worker> m_worker;
    EngineStatus m_status;
    DeviceList m_devices;
    std::shared_ptr<LogitStore> m_logits;
    std::shared_ptr<const CacheSnapshot> m_cache;
    std::shared_ptr<const CacheWork> m_cacheWork;
    bool m_modelIsNew = false; ///< the next status belongs to a model that was just opened
};

} // namespace tokenloupe
