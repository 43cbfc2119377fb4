// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/backend.h"
#include "engine/memory/memoryplan.h"
#include "engine/sampling/samplerchain.h"
#include "engine/session/loadedmodel.h"
#include "engine/trace/logitstore.h"
#include "engine/trace/steprecord.h"
#include "engine/transformer/transformer.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
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
};

struct StepRequest
{
    std::shared_ptr<const SamplerSettings> settings;
    std::optional<TokenId> force;      ///< take this token instead of the drawn one
    ChainRecorder *recorder = nullptr; ///< sees the chain
    std::stop_token stop;
};

/// One model, one cache, one sequence of tokens. Synchronous; every call on the thread that created it
/// (asserted); no locks inside. After any error the session is as before the call, except that a prefill or
/// score that failed on its way leaves what it computed in the cache and no run to go on from.
class Session
{
public:
    static Result<std::unique_ptr<Session>> create(std::shared_ptr<const LoadedModel> model,
                                                   const SessionSettings &settings,
                                                   Progress *progress = nullptr, std::stop_token stop = {});
    ~Session();

    /// Starts a run: makes the cache hold exactly `prompt`, keeping the longest prefix that it already holds,
    /// and computes the logits of the first step. An empty prompt is InvalidArgument; one longer than the
    /// context is ContextFull with both numbers. Progress counts prompt tokens. Cancelled: what was prefilled
    /// stays cached.
    Result<RunRecord> prefill(std::span<const TokenId> prompt, std::uint64_t seed,
                              Progress *progress = nullptr, std::stop_token stop = {});

    /// Draws the next token (after a forward pass over the one before, except for the first). ContextFull
    /// when the cache is full: the run ends with EndReason::Context.
    Result<StepRecord> step(const StepRequest &request);

    /// Back to the moment before `step` of the present run was drawn: its logits are at hand again, bit for
    /// bit, later tokens are gone from history and cache. Logits that were dropped are computed anew from the
    /// token before. A step that was not drawn yet is InvalidArgument (the next one is fine: nothing
    /// changes).
    Status rewind(StepIndex step);

    const LoadedModel &model() const;
    std::shared_ptr<const LoadedModel> sharedModel() const;
    const SessionSettings &settings() const; ///< with defaults filled in
    const MemoryPlan &plan() const;
    const Backend &backend() const;
    const KvCache &cache() const;
    std::shared_ptr<LogitStore> logits() const;
    RunId run() const;
    std::span<const TokenId> history() const; ///< prompt and drawn tokens
    std::uint32_t steps() const;              ///< drawn in this run
    std::span<const float>
    currentLogits() const; ///< of the step that was drawn last, or of the first to come
    std::uint64_t activationBytes() const;
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
