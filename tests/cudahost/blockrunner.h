// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/cudahost/fiber.h"
#include "tests/cudahost/launch.h"
#include "tests/cudahost/sharedblock.h"
#include "tests/cudahost/sourceplace.h"
#include "tests/cudahost/threadvariables.h"
#include "tests/cudahost/vectortypes.h"
#include "tests/cudahost/warp.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cudahost {

enum class BarrierKind : std::uint8_t { Plain, Count, And, Or };

/// What ends a launch before its time.
enum class Failure : std::uint8_t {
    Hang,
    DivergentBarrier,
    WarpDisagrees,
    EndsAwaited,
    SharedTooSmall,  ///< with the bytes that were wanted
    ShuffleWidth,    ///< with the width
    DoesNotFollow,   ///< ends before it has waited for the kernel in front
    NothingToFollow, ///< what was in front went wrong
};

/// Runs the blocks of a launch one after the other, each CUDA thread until it waits for others. A thread that
/// has not begun is begun on the fiber of one that has ended, so threads that never wait cost no switch.
///
/// Which of the threads that could go on does so is random, by seed. One runner for each thread of the
/// operating system; what kernels call goes to the runner of the thread they run on.
class BlockRunner
{
public:
    static constexpr unsigned int maxThreads = 1024;
    /// What is done when all threads of the first block wait for it. False: it went wrong.
    using Before = std::function<bool()>;

    /// One that runs nothing.
    static BlockRunner &instance();

    /// Null where all went well, else what the kernel did wrong; then the blocks after that one have not run.
    std::optional<std::string> run(const KernelLaunch &launch, std::uint64_t seed, const Before &before);

    /// The one whose kernel runs in this thread of the operating system; null: none does.
    static BlockRunner *running() { return s_running; }

    // For the thread that runs:
    int syncThreads(BarrierKind kind, bool predicate, SourcePlace place);
    void followPrevious();
    /// What the lanes of a warp do together: the result of the calling lane.
    [[gnu::always_inline]] std::uint64_t exchange(const WarpRequest &request)
    {
        const unsigned int number = m_thread / 32;
        const unsigned int lane = m_thread % 32;
        Warp &warp = m_warps[number];
        const Warp::Answer answer = warp.request(lane, request);
        if (answer == Warp::Answer::Waits)
            suspend();
        else if (answer == Warp::Answer::Complete)
            wake(number, request.mask & ~(1U << lane));
        else
            fail(Failure::WarpDisagrees, request.place);
        return warp.result(lane);
    }
    void *sharedMemory(std::size_t bytes);
    unsigned int lane() const { return m_thread % 32; }
    /// Ends the launch: never returns. What it says is put into words later: a fiber that is left for good
    /// must not own any memory.
    [[noreturn]] void fail(Failure failure, SourcePlace place = {}, std::size_t number = 0);

private:
    BlockRunner();
    static void runFiber();

    void setUpThreads(dim3 block);
    void runBlock();
    void runThreads();
    void endThread();
    void prepareFiber();
    void releaseBarrier();
    void wakeAtBarrier();
    void runBefore();
    void startOver();
    std::string describeHang() const;
    std::string describeFailure() const;

    // note: what a switch between threads needs is inlined into what kernels call: each return after a switch
    // is one that the processor predicts wrongly.

    std::uint32_t random()
    {
        m_random ^= m_random << 13;
        m_random ^= m_random >> 7;
        m_random ^= m_random << 17;
        return static_cast<std::uint32_t>(m_random >> 32);
    }

    // One of the bits: the first from a place on, in one of both directions.
    static unsigned int chooseBit(std::uint32_t bits, std::uint32_t turn)
    {
        const std::uint32_t shift = turn % 32;
        const std::uint32_t rotated = bits >> shift | bits << ((32 - shift) % 32);
        const auto place = static_cast<unsigned int>((turn & 32) != 0 ? 31 - __builtin_clz(rotated)
                                                                      : __builtin_ctz(rotated));
        return (place + shift) % 32;
    }

    // The next thread to run, as m_thread. False: there is none that could go on.
    [[gnu::always_inline]] bool chooseThread()
    {
        unsigned int number = m_thread / 32;
        if ((m_readyWarps >> number & 1) == 0 || m_leavesWarp) {
            if (m_readyWarps == 0)
                return false;
            number = chooseBit(m_readyWarps, m_turn);
            m_leavesWarp = false;
        }
        Warp &warp = m_warps[number];
        const unsigned int lane = chooseBit(warp.ready, warp.turn);
        warp.ready &= ~(1U << lane);
        if (warp.ready == 0)
            m_readyWarps &= ~(1U << number);
        m_thread = number * 32 + lane;
        return true;
    }

    // Leaves the fiber that runs for the chosen thread's, on which it goes on or begins.
    [[gnu::always_inline]] void resumeChosen()
    {
        Fiber *&fiber = m_fiberOf[m_thread];
        if (fiber == nullptr) {
            if (m_idle.empty())
                prepareFiber();
            fiber = m_idle.back();
            m_idle.pop_back();
        }
        threadIdx = m_threadIndex[m_thread];
        Fiber &left = *m_current;
        m_current = fiber;
        Fiber::jump(left, *fiber);
    }

    // The thread that runs waits until somebody wakes it.
    [[gnu::always_inline]] void suspend()
    {
        if (!chooseThread())
            fail(Failure::Hang);
        resumeChosen();
    }

    void wake(unsigned int warp, std::uint32_t lanes)
    {
        if (lanes == 0)
            return;
        const std::uint32_t number = random();
        m_warps[warp].ready |= lanes;
        m_warps[warp].turn = number;
        // Mostly a warp goes on for as long as it can; now and then another one overtakes it.
        if ((number >> 8 & 15) == 0) {
            m_leavesWarp = true;
            m_turn = number >> 16;
        }
        m_readyWarps |= 1U << warp;
    }

    static constinit thread_local BlockRunner *s_running;

    const KernelLaunch *m_launch = nullptr;
    Before m_before; ///< none once it is done
    std::array<Fiber, maxThreads> m_fibers;
    unsigned int m_prepared = 0; ///< of these fibers, how many have been used
    std::vector<Fiber *> m_idle; ///< those with no CUDA thread
    Fiber m_caller;
    Fiber *m_current = nullptr;                  ///< the fiber that runs
    std::array<Fiber *, maxThreads> m_fiberOf{}; ///< null: the thread has not begun
    std::array<uint3, maxThreads> m_threadIndex{};
    std::array<Warp, maxThreads / 32> m_warps{};
    std::uint32_t m_readyWarps = 0; ///< those with a thread that can go on
    std::uint32_t m_turn = 0;       ///< from where, and in which direction, the next warp is looked for
    bool m_leavesWarp = false;      ///< the next thread is not looked for in the warp that ran last
    unsigned int m_threads = 0;     ///< of a block
    unsigned int m_thread = 0;      ///< the one that runs
    unsigned int m_live = 0;        ///< threads of the block that have not ended

    unsigned int m_arrived = 0; ///< at the barrier
    BarrierKind m_barrierKind = BarrierKind::Plain;
    SourcePlace m_barrierPlace;
    unsigned int m_trueCount = 0; ///< predicates of those that have arrived
    int m_barrierResult = 0;
    unsigned int m_followers = 0; ///< threads that have asked for what is in front

    SharedBlock m_shared;
    std::uint64_t m_random = 0;
    struct
    {
        Failure failure = Failure::Hang;
        SourcePlace place;
        std::size_t number = 0;
    } m_failure;
    bool m_hasFailed = false;
    std::optional<std::string> m_fault;
};

} // namespace cudahost
