// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/sessionstate.h"

#include <algorithm>
#include <chrono>

namespace tokenloupe {

std::int64_t Stopwatch::now()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double Stopwatch::lap()
{
    const std::int64_t before = std::exchange(m_last, now());
    return static_cast<double>(m_last - before) / 1e6;
}

void Session::State::truncate(std::uint32_t tokens)
{
    if (tokens >= cached.size())
        return;
    cache->truncate(tokens);
    cached.resize(tokens);
}

void Session::State::endRun()
{
    run = RunId();
    history.clear();
    promptTokens = 0;
    steps = 0;
    logitsReady = false;
    currentLogits.clear();
    stepForwardMs.clear();
}

Result<std::span<const float>> Session::State::forward(std::span<const TokenId> tokens, Progress *progress,
                                                       const std::stop_token &stop)
{
    std::span<const float> row;
    while (!tokens.empty()) {
        const auto batch = tokens.first(std::min<std::size_t>(tokens.size(), settings.batchTokens));
        ForwardRequest request;
        request.tokens = batch;
        request.stop = stop;
        auto result = transformer->forward(request, *cache);
        if (!result)
            return tl::unexpected(result.error());
        row = *result;
        cached.insert(cached.end(), batch.begin(), batch.end());
        if (progress)
            progress->advance(batch.size());
        tokens = tokens.subspan(batch.size());
    }
    return row;
}

Result<std::span<const float>> Session::State::forwardUpTo(std::size_t count, const std::stop_token &stop)
{
    if (settings.cacheUse == CacheUse::Recompute)
        truncate(0);
    truncate(static_cast<std::uint32_t>(count - 1));
    return forward(std::span<const TokenId>(history).subspan(cached.size(), count - cached.size()), nullptr,
                   stop);
}

} // namespace tokenloupe
