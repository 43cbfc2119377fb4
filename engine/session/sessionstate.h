// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/sessionplan.h"
#include "engine/session/sessionrun.h"

#include <map>

namespace tokenloupe {

/// What a session holds.
struct Session::State
{
    std::shared_ptr<const LoadedModel> model;
    MemoryPlan plan;
    BackendMaker maker;
    std::shared_ptr<Backend> backend; ///< the device's, where one computes
    std::shared_ptr<Backend> host;    ///< the CPU, where a device computes a part of the model; else null
    std::string fallbackReason;
    std::optional<DeviceNeeds> deviceNeeds;
    Measuring measuring = Measuring::Off;
    std::uint64_t tokenWeightBytes = 0; ///< that the pass of one token reads
    SessionEngine engine;
    std::thread::id thread;

    std::map<RunId, std::unique_ptr<SessionRun>> runs; ///< that can be gone on with; after `engine`: they
                                                       ///< give their blocks back
    SessionRun *active = nullptr;                      ///< of `runs`; null: no run to step in
    std::uint32_t started = 0;                         ///< runs so far
    std::shared_ptr<const SamplerSettings> givenSettings,
        seededSettings; ///< the latter: the former with the active run's seed

    /// What is about to take the place of what there is.
    struct Build
    {
        SessionSettings settings;
        SessionParts parts;
        std::shared_ptr<Backend> backend, host;
        std::optional<DeviceNeeds> needs;
        RunMemorySettings memory;
        MemoryPlan plan;
    };

    bool isOwnThread() const { return std::this_thread::get_id() == thread; }
    /// Plan, backend, cache and scratch for these settings; on an error all is as before, but for the runs
    /// where the cache had to go first. Where there is no such backend, on the CPU.
    Status build(const SessionSettings &settings, Progress *progress, const std::stop_token &stop);
    Status buildOn(std::shared_ptr<Backend> newBackend, SessionSettings own, Progress *progress,
                   const std::stop_token &stop);
    Status finish(Build build, Progress *progress, const std::stop_token &stop);
    std::uint64_t cacheBytesOn(const Backend &device) const;
    Status shrinkCache();
    void restoreCache(const KvCacheSettings &before);
    Status checkTokens(std::span<const TokenId> ids, std::string_view what) const;
    void endRuns();
    /// The run's seed is what counts: settings that carry another one are copied with it, once.
    std::shared_ptr<const SamplerSettings> withSeed(const std::shared_ptr<const SamplerSettings> &given);
    void measure(Measuring wanted);
    OperationTimes takeOperationTimes() const; ///< of all backends: they work one after the other
    void forgetTimes() const;                  ///< of passes that belong to no step
    RunArithmetic arithmetic() const;
    void noteArithmetic(RunRecord &record) const;
    /// What the pass that just ended cost; `ms` of it.
    PassCost costOf(double ms, std::uint32_t computedTokens) const;
    void record(StepRecord &step, std::span<const float> row, const LogitStatistics &statistics) const;
};

/// Milliseconds since construction or the last lap.
class Stopwatch
{
public:
    double lap();

private:
    std::int64_t m_last = now();
    static std::int64_t now(); // nanoseconds
};

} // namespace tokenloupe
