// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/session.h"

namespace tokenloupe {

/// What a session holds. The cache is always the keys and values of `cached`, a prefix of `history` while a
/// run is there.
struct Session::State
{
    std::shared_ptr<const LoadedModel> model;
    SessionSettings settings;
    MemoryPlan plan;
    std::shared_ptr<Backend> backend;
    std::unique_ptr<Transformer> transformer;
    std::unique_ptr<KvCache> cache;
    std::shared_ptr<LogitStore> logits;
    std::thread::id thread;

    RunId run;                    ///< invalid: no run to step in
    std::uint32_t runs = 0;       ///< started so far
    std::vector<TokenId> history; ///< prompt and drawn tokens
    std::vector<TokenId> cached;  ///< tokens that the cache holds
    std::uint32_t promptTokens = 0;
    std::uint32_t steps = 0;
    std::uint64_t seed = 0; ///< of the run's draws
    std::shared_ptr<const SamplerSettings> givenSettings,
        seededSettings;                ///< the latter: the former with `seed`
    std::vector<float> currentLogits;  ///< of the step drawn last, or to come when `logitsReady`
    bool logitsReady = false;          ///< currentLogits belong to the step to come
    std::vector<double> stepForwardMs; ///< [k]: the pass that gave step k's logits; one entry a step, and one
                                       ///< more when logitsReady

    bool isOwnThread() const { return std::this_thread::get_id() == thread; }
    void truncate(std::uint32_t tokens);
    void endRun();
    /// Forward pass over `tokens` in batches, appended to the cache. On an error the cache holds the batches
    /// that were done.
    Result<std::span<const float>> forward(std::span<const TokenId> tokens, Progress *progress,
                                           const std::stop_token &stop);
    /// Logits that follow history[0 … count): from an emptied cache in CacheUse::Recompute.
    Result<std::span<const float>> forwardUpTo(std::size_t count, const std::stop_token &stop);
    void take(std::span<const float> row) { currentLogits.assign(row.begin(), row.end()); }
    /// The run's seed is what counts: settings that carry another one are copied with it, once.
    std::shared_ptr<const SamplerSettings> withSeed(const std::shared_ptr<const SamplerSettings> &given);
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
