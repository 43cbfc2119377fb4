// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/sessionstate.h"

#include "engine/cache/hostmemory.h"
#include "engine/session/sessionplan.h"

#include <chrono>

namespace tokenloupe {

namespace {

/// Left for everybody else: below it, systems begin to swap or to end programs.
constexpr std::uint64_t memoryToLeave = std::uint64_t(64) << 20;

} // namespace

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

Status SessionEngine::checkMemory(std::uint32_t tokens) const
{
    // Reading the system's counters for every token would cost more than the answer is worth: single tokens
    // ask once a block.
    if (tokens < settings.blockTokens && cache->counters().writtenTokens % settings.blockTokens != 0)
        return {};
    std::uint64_t perToken = 0;
    for (const BlockPool &pool : cache->pools()) {
        if (!pool.isOnHost())
            continue; // a device has given all of it already
        for (const std::uint32_t layer : pool.group().layers)
            perToken += cache->shape().bytesPerToken(layer);
    }
    if (perToken == 0)
        return {};
    const std::uint64_t available = availableMemoryBytes();
    const std::uint64_t wanted = perToken * std::max(tokens, settings.blockTokens);
    if (available == 0 || available >= wanted + memoryToLeave)
        return {};
    const std::uint64_t fits = available > memoryToLeave ? (available - memoryToLeave) / perToken : 0;
    return makeError(ErrorCode::OutOfMemory, "KV cache",
                     std::to_string(tokens) + " more tokens take " + std::to_string(wanted >> 20) +
                         " MiB, this machine has " + std::to_string(available >> 20) + " MiB free: at most " +
                         std::to_string(fits) +
                         " more tokens fit; a smaller context, or keys and values as f16 or q8_0, take less");
}

Status Session::State::checkTokens(std::span<const TokenId> ids, std::string_view what) const
{
    const std::uint32_t vocabulary = model->config().vocabulary;
    for (const TokenId id : ids) {
        if (id.value() >= vocabulary)
            return makeError(ErrorCode::InvalidArgument, std::string(what),
                             "token id " + std::to_string(id.value()) + " is not below the vocabulary's " +
                                 std::to_string(vocabulary));
    }
    return {};
}

void Session::State::measure(Measuring wanted)
{
    measuring = wanted;
    backend->measureOperations(wanted);
    if (host)
        host->measureOperations(wanted);
}

OperationTimes Session::State::takeOperationTimes() const
{
    OperationTimes times = backend->takeOperationTimes();
    if (host) {
        const OperationTimes more = host->takeOperationTimes();
        for (std::size_t i = 0; i < operationCount; ++i)
            times.ms[i] += more.ms[i];
    }
    return times;
}

RunArithmetic Session::State::arithmetic() const
{
    const SessionSettings &settings = engine.settings;
    return {settings.precision,    settings.keyType,
            settings.valueType,    keyPhaseOf(settings.overflow),
            backend->deviceName(), host ? settings.deviceLayers : std::nullopt};
}

void Session::State::noteArithmetic(RunRecord &record) const
{
    record.arithmetic = arithmetic();
    // What a step reads comes from two memories where a device has a part: the speed of one says nothing.
    record.deviceBytesPerSecond = host ? 0.0 : backend->bytesPerSecond();
}

void Session::State::endRuns()
{
    active = nullptr;
    runs.clear();
}

} // namespace tokenloupe
