// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/blockintrinsics.h"

#include "tests/cudahost/blockrunner.h"
#include "tests/cudahost/launch.h"

#include <cstdio>
#include <cstdlib>

namespace cudahost {

namespace {

[[noreturn, gnu::noinline]] void refuse()
{
    std::fputs("cudahost: what only a kernel may do is done outside of one\n", stderr);
    std::abort();
}

BlockRunner &runner()
{
    BlockRunner *runner = BlockRunner::running();
    if (runner == nullptr)
        refuse();
    return *runner;
}

WarpAction actionOf(WarpReduction reduction)
{
    switch (reduction) {
    case WarpReduction::Add:
        return WarpAction::AddUnsigned;
    case WarpReduction::Min:
        return WarpAction::MinUnsigned;
    case WarpReduction::Max:
        return WarpAction::MaxUnsigned;
    case WarpReduction::MinSigned:
        return WarpAction::MinSigned;
    case WarpReduction::MaxSigned:
        return WarpAction::MaxSigned;
    case WarpReduction::And:
        return WarpAction::And;
    case WarpReduction::Or:
        return WarpAction::Or;
    case WarpReduction::Xor:
        break;
    }
    return WarpAction::Xor;
}

} // namespace

int barrier(SourcePlace place)
{
    return runner().syncThreads(BarrierKind::Plain, false, place);
}

int barrierCount(bool predicate, SourcePlace place)
{
    return runner().syncThreads(BarrierKind::Count, predicate, place);
}

int barrierAnd(bool predicate, SourcePlace place)
{
    return runner().syncThreads(BarrierKind::And, predicate, place);
}

int barrierOr(bool predicate, SourcePlace place)
{
    return runner().syncThreads(BarrierKind::Or, predicate, place);
}

void warpBarrier(std::uint32_t mask, SourcePlace place)
{
    runner().exchange({mask, WarpAction::Wait, 0, 0, place});
}

std::uint32_t warpBallot(std::uint32_t mask, bool predicate, SourcePlace place)
{
    const std::uint64_t value = predicate ? 1 : 0;
    return static_cast<std::uint32_t>(runner().exchange({mask, WarpAction::Ballot, 0, value, place}));
}

std::uint32_t warpMatch(std::uint32_t mask, std::uint64_t value, SourcePlace place)
{
    return static_cast<std::uint32_t>(runner().exchange({mask, WarpAction::MatchAny, 0, value, place}));
}

std::uint64_t warpShuffle(std::uint32_t mask, std::uint64_t value, ShuffleFrom from, int number, int width,
                          SourcePlace place)
{
    BlockRunner &current = runner();
    if (width < 1 || width > 32 || (width & (width - 1)) != 0)
        current.fail(Failure::ShuffleWidth, place, static_cast<std::size_t>(width));
    const int lane = static_cast<int>(current.lane());
    const int first = lane & ~(width - 1); // of the lanes that exchange among themselves
    int source = lane;
    switch (from) {
    case ShuffleFrom::Lane:
        source = first + (number & (width - 1));
        break;
    case ShuffleFrom::Above:
        source = lane + number < first + width ? lane + number : lane;
        break;
    case ShuffleFrom::Below:
        source = lane - number >= first ? lane - number : lane;
        break;
    case ShuffleFrom::Partner:
        // Groups further up may read those below, but not the other way round.
        source = (lane ^ number) < first + width ? lane ^ number : lane;
        break;
    }
    return current.exchange({mask, WarpAction::Shuffle, static_cast<std::uint8_t>(source), value, place});
}

std::uint32_t warpReduce(std::uint32_t mask, std::uint32_t value, WarpReduction reduction, SourcePlace place)
{
    return static_cast<std::uint32_t>(runner().exchange({mask, actionOf(reduction), 0, value, place}));
}

void *sharedMemory(std::size_t bytes)
{
    return runner().sharedMemory(bytes);
}

void followPrevious()
{
    runner().followPrevious();
}

} // namespace cudahost
