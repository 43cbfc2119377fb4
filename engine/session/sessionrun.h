// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/session.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tokenloupe {

/// What the runs of a session work with.
struct SessionEngine
{
    SessionSettings settings; ///< complete
    std::unique_ptr<Transformer> transformer;
    std::unique_ptr<KvCache> cache;
    std::shared_ptr<LogitStore> logits;
    std::uint64_t droppedTokens = 0; ///< by the overflow policy, of all runs
    std::uint64_t droppedTurns = 0;

    /// OutOfMemory, with what fits, when the machine cannot hold so many more tokens.
    Status checkMemory(std::uint32_t tokens) const;
};

/// Of a forward pass.
struct PassCost
{
    double ms = 0.0;
    OperationTimes operations;
    std::uint64_t readBytes = 0;
};

/// One run's tokens, what of them the model sees, and their place in the cache.
///
/// history: prompt and drawn tokens, all of them. context: what the model sees of it; it ends as the history
/// does, but the overflow policy takes tokens out of it. The cache's sequence holds a prefix of context;
/// feed() computes the rest.
class SessionRun
{
public:
    SessionRun(SessionEngine &engine, RunId id);
    ~SessionRun(); ///< its blocks stay findable
    SessionRun(const SessionRun &) = delete;
    SessionRun &operator=(const SessionRun &) = delete;

    /// The prompt, shortened when the policy drops turns. Nothing is computed yet.
    Status start(const PromptRequest &request);
    /// Takes over what the cache knows of the context, all but its last token.
    void adoptKnown();
    /// Computes what is missing of the context; the logits of its last token, in `target` unless that is
    /// empty. Room is made by the policy.
    Result<std::span<const float>> feed(Progress *progress, const std::stop_token &stop,
                                        std::span<float> target = {});
    /// A token was drawn.
    void push(TokenId token);
    /// The state before `step`, except for the logits, which the caller has to get.
    void rewindTo(std::uint32_t step);
    /// As `parent` was before its step `step`, sharing its blocks.
    void branchFrom(const SessionRun &parent, std::uint32_t step);
    /// The last token of the context is computed anew by the next feed(), or all of it when nothing is kept.
    void forgetLast();

    RunId id() const { return m_id; }
    SequenceId sequence() const { return m_sequence; }
    std::span<const TokenId> history() const { return m_history; }
    std::span<const TokenId> context() const { return m_context; }
    std::uint32_t promptTokens() const { return m_promptTokens; }
    std::uint32_t steps() const { return static_cast<std::uint32_t>(m_history.size()) - m_promptTokens; }
    std::uint32_t cachedTokens() const;
    std::uint32_t droppedTurns() const { return m_turns; }
    /// Tokens and turns dropped since the last call.
    struct Dropped
    {
        std::uint32_t tokens = 0;
        std::uint32_t turns = 0;
    };
    std::uint32_t justComputed() const { return m_justComputed; }
    std::uint32_t takeComputed() { return std::exchange(m_justComputed, 0U); } ///< tokens, likewise
    Dropped takeDropped() { return std::exchange(m_justDropped, {}); }

    std::uint64_t seed = 0;          ///< of the draws
    bool logitsReady = false;        ///< currentLogits() belong to the step to come
    std::vector<PassCost> stepCosts; ///< [k]: of the pass that gave step k's logits; one entry a step, and
                                     ///< one more when logitsReady

    /// Of the step drawn last, or to come when `logitsReady`.
    std::span<const float> currentLogits() const
    {
        return m_storedLogits ? std::span<const float>(*m_storedLogits) : m_ownLogits;
    }
    void take(std::span<const float> row)
    {
        m_ownLogits.assign(row.begin(), row.end());
        m_storedLogits = nullptr;
    }
    void take(LogitStore::Row row) { m_storedLogits = std::move(row); } ///< shared, not copied

private:
    /// The policy took something out of the context when so much of the history had been fed.
    struct Drop
    {
        std::size_t historyTokens = 0;
        std::vector<TokenId> prompt; ///< DropTurns: what was left of it
        std::uint32_t turns = 0;     ///< DropTurns: left out of the prompt from then on
    };

    Status makeRoom();
    Status dropTurns();
    Status dropOldestBlock();
    /// The context of the first `count` history tokens; drops that came later are forgotten.
    void setContextFor(std::size_t count);
    void openSequence();
    void forgetAll(); ///< as if it had never been computed

    SessionEngine &m_engine;
    RunId m_id;
    std::vector<float> m_ownLogits;
    LogitStore::Row m_storedLogits;
    SequenceId m_sequence;
    std::vector<TokenId> m_history;
    std::vector<TokenId> m_context;
    std::uint32_t m_promptTokens = 0;
    std::uint32_t m_turns = 0;      ///< left out of the prompt
    std::uint32_t m_firstTurns = 0; ///< left out when the run started
    std::vector<Drop> m_drops;
    Dropped m_justDropped;
    std::uint32_t m_justComputed = 0;
    PromptWithoutTurns m_withoutTurns;
};

} // namespace tokenloupe
