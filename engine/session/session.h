// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/cachesnapshot.h"
#include "engine/compute/backend.h"
#include "engine/memory/memoryplan.h"
#include "engine/sampling/samplerchain.h"
#include "engine/session/loadedmodel.h"
#include "engine/session/overflow.h"
#include "engine/session/scorepass.h"
#include "engine/trace/logitstore.h"
#include "engine/trace/steprecord.h"
#include "engine/transformer/transformer.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace tokenloupe {

/// Recompute: nothing is kept between steps; every step runs the whole history through the model again. The
/// same tokens, far slower: what the cache is for can be seen by leaving it out.
enum class CacheUse : std::uint8_t { Keep, Recompute };

struct SessionSettings
{
    std::uint32_t contextTokens = 0; ///< 0: the smaller of the model's own and 8192
    std::uint32_t batchTokens = 256; ///< prefill batch
    int threads = 0;                 ///< 0: usableCores()
    KvType keyType = KvType::F32;
    KvType valueType = KvType::F32;
    Precision precision = Precision::Exact;
    std::uint64_t logitBudgetBytes = std::uint64_t(256) << 20; ///< 0: logits are not kept
    CacheUse cacheUse = CacheUse::Keep;
    std::uint32_t blockTokens = 16; ///< of the cache's blocks
    std::uint32_t sequences = 1; ///< full contexts that the pool has room for: branches share what they can
    OverflowPolicy overflow = OverflowPolicy::Stop;
    std::uint32_t sinkTokens = 4; ///< OverflowPolicy::Streaming: first tokens that stay, in whole blocks
    BackendKind backend = BackendKind::Cpu;
    std::string device; ///< which of that backend's, by DeviceEntry::id; empty: the best
    /// With a device: it computes the model's first so many layers, and the CPU the rest with the embedding
    /// and the head. None, or as many as there are: it computes all of the model. 0: the CPU runs alone, as
    /// if no device had been asked for.
    std::optional<std::uint32_t> deviceLayers;

    bool operator==(const SessionSettings &) const = default;
};

/// What a session with these settings would take; the error that creating it would give for settings that do
/// not go together. `needs`: of the device, for as many layers, where they are known; else its weights are
/// counted as stored.
Result<MemoryPlan> sessionPlan(const LoadedModel &model, const SessionSettings &settings,
                               const std::optional<DeviceNeeds> &needs = std::nullopt);

/// Settings made for another model, changed where this one does not allow them: KV types that its heads are
/// too odd for become f16; streaming in a context too small for it becomes stopping; a context that the
/// machine has no room for becomes the default one.
SessionSettings fittedTo(const LoadedModel &model, SessionSettings settings);

/// Where sessions get their backends from; what there is differs from program to program. Threads as in
/// makeCpuBackend().
using BackendMaker = std::function<Result<std::shared_ptr<Backend>>(BackendKind kind, int threads)>;
/// The CPU and nothing else.
Result<std::shared_ptr<Backend>> makeCpuOnly(BackendKind kind, int threads);

/// A run to be started.
struct PromptRequest
{
    std::span<const TokenId> tokens;
    std::uint64_t seed = 0;
    PromptWithoutTurns withoutTurns; ///< for OverflowPolicy::DropTurns; none: there are no turns to drop
};

struct StepRequest
{
    std::shared_ptr<const SamplerSettings> settings;
    std::optional<TokenId> force;      ///< take this token instead of the drawn one
    ChainRecorder *recorder = nullptr; ///< sees the chain
    std::stop_token stop;
};

/// One model, one cache, and the runs that it holds: the one that was started last and the branches off it.
/// Synchronous; every call on the thread that created it (asserted); no locks inside. After any error the
/// session is as before the call, except that a prefill or score that failed on its way leaves what it
/// computed in the cache and no run to go on from.
class Session
{
public:
    static Result<std::unique_ptr<Session>> create(std::shared_ptr<const LoadedModel> model,
                                                   const SessionSettings &settings,
                                                   Progress *progress = nullptr, std::stop_token stop = {},
                                                   BackendMaker maker = makeCpuOnly);
    ~Session();

    /// Other settings for the same model. All runs end and the cache is empty; logits of past steps stay,
    /// unless their budget changes. On an error everything is as before; but where a device has room for one
    /// cache and not for two, the runs have ended and the cache is empty even so.
    Status reconfigure(const SessionSettings &settings, Progress *progress = nullptr,
                       std::stop_token stop = {});

    /// Starts a run: the runs that were there end (their tokens stay findable in the cache), the longest
    /// known prefix of the prompt is taken over, the rest computed up to the logits of the first step. An
    /// empty prompt is InvalidArgument; one that the overflow policy cannot make fit is ContextFull with both
    /// numbers. Progress counts prompt tokens. Cancelled: what was prefilled stays cached.
    Result<RunRecord> prefill(const PromptRequest &prompt, Progress *progress = nullptr,
                              std::stop_token stop = {});
    Result<RunRecord> prefill(std::span<const TokenId> prompt, std::uint64_t seed,
                              Progress *progress = nullptr, std::stop_token stop = {});

    /// Draws the next token of the active run (after a forward pass over the one before, except for the
    /// first). ContextFull when the context is full and the policy can make no room: the run ends with
    /// EndReason::Context. OutOfMemory when the machine has no room for more of the cache.
    Result<StepRecord> step(const StepRequest &request);

    /// Back to the moment before `step` of the active run was drawn: its logits are at hand again, bit for
    /// bit, later tokens are gone from history and cache. Logits that were dropped are computed anew from the
    /// token before. A step that was not drawn yet is InvalidArgument (the next one is fine: nothing
    /// changes).
    Status rewind(StepIndex step);

    /// A branch off the active run, as it was before `step` was drawn; it becomes the active run. Keys and
    /// values up to there are shared, not copied. RunRecord::parent tells where it parted; its first steps
    /// are the parent's.
    Result<RunRecord> fork(StepIndex step, std::uint64_t seed);
    /// Makes another open run the active one; InvalidArgument when it is not open.
    Status activate(RunId run);
    std::vector<RunId> openRuns() const;

    /// From the next step on. The tokens are the same either way. Streaming cannot recompute: what a dropped
    /// token did to the ones after it cannot be had from those alone.
    Status setCacheUse(CacheUse use);

    /// From the next pass on, also after reconfigure(): records carry the times of operations.
    void measureOperations(Measuring measuring);

    /// Logits after `tokens`, from nothing, without touching any run: what a step costs when nothing is kept.
    /// The span is valid until the next call.
    Result<std::span<const float>> computeAfresh(std::span<const TokenId> tokens, std::stop_token stop = {});

    /// The cache as it is now, the active run's sequence first.
    std::shared_ptr<const CacheSnapshot> cacheSnapshot() const;

    const LoadedModel &model() const;
    std::shared_ptr<const LoadedModel> sharedModel() const;
    const SessionSettings &settings() const; ///< with defaults filled in, and the backend that runs
    const MemoryPlan &plan() const;
    const std::optional<DeviceNeeds> &deviceNeeds() const; ///< none: the CPU runs
    const Backend &backend() const;                        ///< where a device computes, the device's
    /// How many layers the device computes, where it is only a part of the model.
    std::optional<std::uint32_t> deviceLayers() const;
    RunArithmetic arithmetic() const; ///< of a run that would start now
    /// Why the backend that was asked for is not the one that runs; empty: it is.
    const std::string &fallbackReason() const;
    /// The device failed: what was recorded stays and can be looked at, every computation is DeviceLost until
    /// reconfigure() succeeds.
    bool isDeviceLost() const;
    const KvCache &cache() const;
    std::uint32_t cachedTokens() const; ///< of the active run's context
    std::uint64_t kvBytes() const;      ///< of the active run's blocks, shared ones too
    std::shared_ptr<LogitStore> logits() const;
    RunId run() const;                        ///< the active one; invalid: none
    std::span<const TokenId> history() const; ///< of it: prompt and drawn tokens
    std::span<const TokenId> context() const; ///< what the model sees of it
    std::uint32_t steps() const;              ///< drawn in it
    std::span<const float>
    currentLogits() const; ///< of the step that was drawn last, or of the first to come
    std::uint64_t activationBytes() const;
    /// Logits of a text, asked for row by row. Ends the runs; the session does nothing else until the pass is
    /// gone, and outlives it. ContextFull when the text is longer than the context.
    Result<std::unique_ptr<ScorePass>> beginScore(std::span<const TokenId> ids);
    /// Forward pass over ids from an empty cache with all logits, in batches: for `score`. `take` gets each
    /// row (position, logits) in order.
    Status score(std::span<const TokenId> ids,
                 const std::function<void(std::uint32_t, std::span<const float>)> &take,
                 std::stop_token stop = {});

private:
    struct State;
    explicit Session(std::unique_ptr<State> state);
    std::unique_ptr<State> m_state;
};

} // namespace tokenloupe
