// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/sessionrun.h"

#include <algorithm>

namespace tokenloupe {

namespace {

/// Room that dropping turns should make, so that it is not needed for every token.
std::uint32_t roomToMake(const SessionSettings &settings)
{
    return std::max(settings.blockTokens, settings.contextTokens / 8);
}

tl::unexpected<Error> contextFull(std::size_t tokens, std::uint32_t contextTokens)
{
    return makeError(ErrorCode::ContextFull, "context",
                     std::to_string(tokens) + " tokens do not fit into " + std::to_string(contextTokens));
}

} // namespace

SessionRun::SessionRun(SessionEngine &engine, RunId id)
    : m_engine(engine)
    , m_id(id)
{
    openSequence();
}

SessionRun::~SessionRun()
{
    m_engine.cache->close(m_sequence);
}

void SessionRun::openSequence()
{
    if (m_sequence.isValid())
        m_engine.cache->close(m_sequence);
    m_sequence = m_engine.cache->open();
    m_engine.cache->setRun(m_sequence, m_id);
}

std::uint32_t SessionRun::cachedTokens() const
{
    return m_engine.cache->tokens(m_sequence);
}

Status SessionRun::start(const PromptRequest &request)
{
    const SessionSettings &settings = m_engine.settings;
    m_history.assign(request.tokens.begin(), request.tokens.end());
    m_context = m_history;
    m_withoutTurns = request.withoutTurns;
    m_promptTokens = static_cast<std::uint32_t>(m_history.size());
    seed = request.seed;
    if (m_history.size() > settings.contextTokens && settings.overflow != OverflowPolicy::Streaming) {
        if (Status room = makeRoom(); !room)
            return room;
        // What the run starts from is what was sent.
        m_history = m_context;
        m_promptTokens = static_cast<std::uint32_t>(m_history.size());
        m_firstTurns = m_turns;
        m_drops.clear();
        m_justDropped = {};
    }
    return {};
}

void SessionRun::adoptKnown()
{
    // The last token is always computed: its logits are what the next step draws from.
    const std::size_t most = std::min<std::size_t>(m_context.size() - 1, m_engine.settings.contextTokens);
    if (m_engine.settings.cacheUse == CacheUse::Keep)
        m_engine.cache->adopt(m_sequence, std::span<const TokenId>(m_context).first(most));
    else
        forgetAll();
}

void SessionRun::forgetAll()
{
    m_engine.cache->discard(m_sequence);
    m_sequence = SequenceId();
    openSequence();
}

Status SessionRun::makeRoom()
{
    switch (m_engine.settings.overflow) {
    case OverflowPolicy::DropTurns:
        return dropTurns();
    case OverflowPolicy::Streaming:
        return dropOldestBlock();
    case OverflowPolicy::Stop:
        break;
    }
    return contextFull(m_context.size(), m_engine.settings.contextTokens);
}

Status SessionRun::dropTurns()
{
    const SessionSettings &settings = m_engine.settings;
    const std::size_t drawn = m_history.size() - m_promptTokens;
    std::vector<TokenId> best;
    std::uint32_t bestTurns = 0;
    for (std::uint32_t turns = m_turns + 1; m_withoutTurns; ++turns) {
        Result<std::vector<TokenId>> shorter = m_withoutTurns(turns);
        if (!shorter)
            return tl::unexpected(shorter.error());
        if (shorter->empty())
            break;
        if (shorter->size() + drawn > settings.contextTokens)
            continue;
        best = std::move(*shorter);
        bestTurns = turns;
        if (best.size() + drawn + roomToMake(settings) <= settings.contextTokens)
            break;
    }
    if (best.empty())
        return contextFull(m_context.size(), settings.contextTokens);

    const std::size_t before = m_context.size();
    m_drops.push_back({m_history.size() - 1, best, bestTurns});
    m_context = std::move(best);
    m_context.insert(m_context.end(), m_history.begin() + m_promptTokens, m_history.end());
    m_justDropped.tokens += static_cast<std::uint32_t>(before - m_context.size());
    m_justDropped.turns += bestTurns - m_turns;
    m_engine.droppedTokens += before - m_context.size();
    m_engine.droppedTurns += bestTurns - m_turns;
    m_turns = bestTurns;
    return {};
}

Status SessionRun::dropOldestBlock()
{
    const std::uint32_t block = m_engine.settings.blockTokens;
    const std::uint32_t sinkBlocks = (m_engine.settings.sinkTokens + block - 1) / block;
    const std::uint32_t fed =
        static_cast<std::uint32_t>(m_history.size() - m_context.size()) + cachedTokens();
    if (Status dropped = m_engine.cache->dropBlocks(m_sequence, sinkBlocks, 1); !dropped)
        return dropped;
    const auto first = m_context.begin() + std::ptrdiff_t(sinkBlocks) * block;
    m_context.erase(first, first + block);
    m_drops.push_back({fed, {}, 0});
    m_justDropped.tokens += block;
    m_engine.droppedTokens += block;
    return {};
}

Result<std::span<const float>> SessionRun::feed(Progress *progress, const std::stop_token &stop,
                                                std::span<float> target)
{
    const SessionSettings &settings = m_engine.settings;
    KvCache &cache = *m_engine.cache;
    if (m_context.size() > settings.contextTokens && settings.overflow != OverflowPolicy::Streaming) {
        if (Status room = makeRoom(); !room)
            return tl::unexpected(room.error());
        adoptKnown();
    }
    if (settings.cacheUse == CacheUse::Recompute)
        forgetAll();
    std::span<const float> row;
    while (cachedTokens() < m_context.size()) {
        const std::uint32_t held = cachedTokens();
        if (held == settings.contextTokens) {
            if (Status room = makeRoom(); !room)
                return tl::unexpected(room.error());
            continue;
        }
        const std::size_t missing = m_context.size() - held;
        // Where branches hold all blocks, the append of one token says so.
        const std::uint32_t most = std::min({settings.batchTokens, settings.contextTokens - held,
                                             std::max(1U, cache.largestAppend(m_sequence))});
        const auto batch =
            std::span<const TokenId>(m_context).subspan(held, std::min<std::size_t>(missing, most));
        if (Status room = m_engine.checkMemory(static_cast<std::uint32_t>(batch.size())); !room)
            return tl::unexpected(room.error());
        ForwardRequest request;
        request.tokens = batch;
        request.target = target;
        request.stop = stop;
        auto result = m_engine.transformer->forward(request, cache, m_sequence);
        if (!result)
            return tl::unexpected(result.error());
        row = *result;
        m_justComputed += static_cast<std::uint32_t>(batch.size());
        if (progress)
            progress->advance(batch.size());
    }
    return row;
}

void SessionRun::push(TokenId token)
{
    m_history.push_back(token);
    m_context.push_back(token);
}

void SessionRun::setContextFor(std::size_t count)
{
    const bool isLater = !m_drops.empty() && m_drops.back().historyTokens >= count;
    if (!isLater) {
        m_context.resize(m_context.size() - (m_history.size() - count));
        return;
    }
    if (m_engine.settings.overflow == OverflowPolicy::Streaming) {
        // Tokens that were dropped left their mark on the later ones: all is fed again, and dropped again at
        // the same places.
        m_drops.clear();
        m_context.assign(m_history.begin(), m_history.begin() + std::ptrdiff_t(count));
        openSequence();
        adoptKnown();
        return;
    }
    while (!m_drops.empty() && m_drops.back().historyTokens >= count)
        m_drops.pop_back();
    const auto promptEnd = m_history.begin() + m_promptTokens;
    m_turns = m_drops.empty() ? m_firstTurns : m_drops.back().turns;
    m_context = m_drops.empty() ? std::vector<TokenId>(m_history.begin(), promptEnd) : m_drops.back().prompt;
    m_context.insert(m_context.end(), promptEnd, m_history.begin() + std::ptrdiff_t(count));
    adoptKnown();
}

void SessionRun::rewindTo(std::uint32_t step)
{
    const std::size_t count = std::size_t(m_promptTokens) + step;
    setContextFor(count);
    m_history.resize(count);
    if (cachedTokens() > m_context.size())
        m_engine.cache->truncate(m_sequence, static_cast<std::uint32_t>(m_context.size()));
    stepCosts.resize(std::size_t(step) + 1);
    m_justDropped = {};
    m_justComputed = 0;
}

void SessionRun::branchFrom(const SessionRun &parent, std::uint32_t step)
{
    const std::size_t count = std::size_t(parent.m_promptTokens) + step;
    m_history = parent.m_history;
    m_context = parent.m_context;
    m_promptTokens = parent.m_promptTokens;
    m_turns = parent.m_turns;
    m_firstTurns = parent.m_firstTurns;
    m_drops = parent.m_drops;
    m_withoutTurns = parent.m_withoutTurns;
    stepCosts = parent.stepCosts;
    const bool isShared = m_drops.empty() || m_drops.back().historyTokens < count;
    if (isShared) {
        const std::size_t seen = m_context.size() - (m_history.size() - count);
        const auto shared = static_cast<std::uint32_t>(std::min<std::size_t>(parent.cachedTokens(), seen));
        m_engine.cache->close(m_sequence);
        m_sequence = m_engine.cache->fork(parent.m_sequence, shared);
        m_engine.cache->setRun(m_sequence, m_id);
    }
    rewindTo(step);
}

void SessionRun::forgetLast()
{
    const auto last = static_cast<std::uint32_t>(m_context.size()) - 1;
    if (cachedTokens() > last)
        m_engine.cache->truncate(m_sequence, last);
}

} // namespace tokenloupe
