// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/blockrunner.h"

#include "tests/cudahost/threadvariables.h"

#include <numeric>
#include <utility>

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace cudahost {

namespace {

std::string text(uint3 index)
{
    return '(' + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) +
           ')';
}

std::string text(SourcePlace place)
{
    return std::string(place.file) + ':' + std::to_string(place.line);
}

} // namespace

constinit thread_local BlockRunner *BlockRunner::s_running = nullptr;

// A fiber for the next thread to begin.
void BlockRunner::prepareFiber()
{
    Fiber &fresh = m_fibers[m_prepared];
    fresh.prepare(&BlockRunner::runFiber, m_prepared);
    ++m_prepared;
    m_idle.push_back(&fresh);
}

BlockRunner &BlockRunner::instance()
{
    // A second one for the kernel that another one has begun in front of.
    static thread_local std::array<std::unique_ptr<BlockRunner>, 2> runners;
    std::unique_ptr<BlockRunner> &runner = runners[s_running == nullptr ? 0 : 1];
    if (runner == nullptr)
        runner.reset(new BlockRunner);
    return *runner;
}

BlockRunner::BlockRunner()
{
    m_idle.reserve(maxThreads);
    startOver();
}

// Makes every fiber a new one, whatever it was in the midst of.
void BlockRunner::startOver()
{
    m_idle.clear();
    m_prepared = 0;
}

void BlockRunner::setUpThreads(dim3 block)
{
    m_threads = block.x * block.y * block.z;
    unsigned int thread = 0;
    for (unsigned int z = 0; z < block.z; ++z)
        for (unsigned int y = 0; y < block.y; ++y)
            for (unsigned int x = 0; x < block.x; ++x)
                m_threadIndex[thread++] = {x, y, z};
}

std::optional<std::string> BlockRunner::run(const KernelLaunch &launch, std::uint64_t seed,
                                            const Before &before)
{
    const dim3 grid = launch.grid;
    // Neighbouring seeds have to give different orders.
    m_random = (seed + 1) * 0x9E3779B97F4A7C15U;
    m_random ^= m_random >> 29;
    m_random = m_random == 0 ? 1 : m_random;
    m_launch = &launch;
    m_before = before;
    BlockRunner *const outer = std::exchange(s_running, this);
    m_fault.reset();
    setUpThreads(launch.block);
    m_shared.resize(launch.sharedBytes);
    blockDim = launch.block;
    gridDim = grid;

    // Blocks in steps that visit each of them once.
    const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
    std::uint64_t step = blocks < 3 ? 1 : 1 + random() % (blocks - 1);
    while (std::gcd(step, blocks) != 1)
        ++step;
    std::uint64_t number = random() % blocks;
    for (std::uint64_t done = 0; done < blocks && !m_fault; ++done) {
        blockIdx = {static_cast<unsigned int>(number % grid.x),
                    static_cast<unsigned int>(number / grid.x % grid.y),
                    static_cast<unsigned int>(number / grid.x / grid.y)};
        runBlock();
        number = (number + step) % blocks;
    }
    s_running = outer;
    return m_fault;
}

void BlockRunner::runBlock()
{
    m_shared.fill();
    m_hasFailed = false;
    m_live = m_threads;
    m_arrived = 0;
    m_followers = 0;
    m_readyWarps = 0;
    m_turn = random();
    m_leavesWarp = true;
    for (unsigned int first = 0; first < m_threads; first += 32) {
        Warp &warp = m_warps[first / 32];
        warp.start(std::min(32U, m_threads - first));
        warp.turn = random();
        m_readyWarps |= 1U << first / 32;
    }
    std::fill_n(m_fiberOf.begin(), m_threads, nullptr);
    m_current = &m_caller;
    chooseThread();
    resumeChosen();
    if (m_hasFailed)
        m_fault = "block " + text(blockIdx) + ", thread " + text(m_threadIndex[m_thread]) + ": " +
                  describeFailure();
    else if (m_launch->isEarly && m_followers != m_threads)
        m_fault = "block " + text(blockIdx) + ": " + std::to_string(m_followers) + " of " +
                  std::to_string(m_threads) + " threads waited for the kernel in front";
    else if (!m_shared.isIntact())
        m_fault = "a thread of block " + text(blockIdx) + " wrote outside of the shared memory of " +
                  std::to_string(m_shared.size()) + " bytes";
    if (m_fault)
        startOver();
}

void BlockRunner::runFiber()
{
    s_running->runThreads();
}

// The life of a fiber: one thread after the other.
void BlockRunner::runThreads()
{
    for (;;) {
        m_launch->thread();
        endThread();
        Fiber *here = m_current;
        const bool found = chooseThread();
        if (found && m_fiberOf[m_thread] == nullptr) {
            m_fiberOf[m_thread] = here;
            threadIdx = m_threadIndex[m_thread];
            continue;
        }
        if (!found && m_live != 0)
            fail(Failure::Hang);
        m_idle.push_back(here);
        if (found) {
            resumeChosen();
        } else {
            m_current = &m_caller;
            Fiber::jump(*here, m_caller);
        }
    }
}

void BlockRunner::endThread()
{
    if (m_before)
        fail(Failure::DoesNotFollow);
    if (!m_warps[m_thread / 32].end(m_thread % 32))
        fail(Failure::EndsAwaited);
    --m_live;
    if (m_arrived != 0 && m_arrived == m_live)
        releaseBarrier();
}

void BlockRunner::wakeAtBarrier()
{
    const unsigned int warps = (m_threads + 31) / 32;
    for (unsigned int warp = 0; warp < warps; ++warp) {
        wake(warp, m_warps[warp].atBarrier);
        m_warps[warp].atBarrier = 0;
    }
    m_turn = random();
}

void BlockRunner::releaseBarrier()
{
    wakeAtBarrier();
    switch (m_barrierKind) {
    case BarrierKind::Plain:
        break;
    case BarrierKind::Count:
        m_barrierResult = static_cast<int>(m_trueCount);
        break;
    case BarrierKind::And:
        m_barrierResult = m_trueCount == m_arrived ? 1 : 0;
        break;
    case BarrierKind::Or:
        m_barrierResult = m_trueCount != 0 ? 1 : 0;
        break;
    }
    m_arrived = 0;
}

int BlockRunner::syncThreads(BarrierKind kind, bool predicate, SourcePlace place)
{
    if (m_arrived == 0) {
        m_barrierKind = kind;
        m_barrierPlace = place;
        m_trueCount = 0;
    } else if (place.line != m_barrierPlace.line || kind != m_barrierKind) {
        fail(Failure::DivergentBarrier, place);
    }
    ++m_arrived;
    m_trueCount += predicate ? 1 : 0;
    if (m_arrived == m_live) {
        releaseBarrier();
        return m_barrierResult;
    }
    m_warps[m_thread / 32].atBarrier |= 1U << m_thread % 32;
    suspend();
    return m_barrierResult;
}

// note: while something is in front, all threads that wait here do so together: none of them can be at a
// barrier behind this, and none can pass one in front of it alone.
void BlockRunner::followPrevious()
{
    ++m_followers;
    if (!m_before)
        return;
    if (m_followers == m_threads) {
        runBefore();
        return;
    }
    m_warps[m_thread / 32].atBarrier |= 1U << m_thread % 32;
    suspend();
}

void BlockRunner::runBefore()
{
    const Before before = std::exchange(m_before, {});
    const uint3 thread = threadIdx;
    const uint3 block = blockIdx;
    const bool goesOn = before();
    threadIdx = thread;
    blockIdx = block;
    blockDim = m_launch->block;
    gridDim = m_launch->grid;
    if (!goesOn)
        fail(Failure::NothingToFollow);
    wakeAtBarrier();
}

void *BlockRunner::sharedMemory(std::size_t bytes)
{
    if (bytes > m_shared.size())
        fail(Failure::SharedTooSmall, {}, bytes);
    return m_shared.data();
}

std::string BlockRunner::describeHang() const
{
    std::string what = "the block hangs: ";
    if (m_before)
        what += std::to_string(m_followers) + " of " + std::to_string(m_threads) +
                " threads wait for the kernel in front, ";
    if (m_arrived != 0)
        what += std::to_string(m_arrived) + " of " + std::to_string(m_live) +
                " threads wait at the barrier of " + text(m_barrierPlace);
    unsigned int inWarps = 0;
    for (unsigned int warp = 0; warp * 32 < m_threads; ++warp) {
        const std::uint32_t waiting = m_warps[warp].waiting();
        if (waiting != 0 && inWarps == 0) {
            const auto lane = static_cast<unsigned int>(__builtin_ctz(waiting));
            what += std::string(m_arrived != 0 ? ", " : "") + "thread " +
                    text(m_threadIndex[warp * 32 + lane]) + " waits for lanes of its warp at " +
                    text(m_warps[warp].requestOf(lane).place);
        }
        inWarps += static_cast<unsigned int>(__builtin_popcount(waiting));
    }
    if (inWarps > 1)
        what += " as do " + std::to_string(inWarps - 1) + " more";
    return what;
}

std::string BlockRunner::describeFailure() const
{
    switch (m_failure.failure) {
    case Failure::Hang:
        return describeHang();
    case Failure::DivergentBarrier:
        return "barriers in divergent code: some threads wait at " + text(m_barrierPlace) + ", others at " +
               text(m_failure.place);
    case Failure::WarpDisagrees:
        return m_warps[m_thread / 32].whatIsWrong(m_thread % 32) + ", at " + text(m_failure.place);
    case Failure::EndsAwaited:
        return "lane " + std::to_string(m_thread % 32) + " ends, but " +
               m_warps[m_thread / 32].whoWaitsFor(m_thread % 32);
    case Failure::SharedTooSmall:
        return "shared memory of " + std::to_string(m_failure.number) +
               " bytes is used, but the launch asked for " + std::to_string(m_shared.size());
    case Failure::ShuffleWidth:
        return "a shuffle's width of " + std::to_string(m_failure.number) +
               " is no power of two up to 32, at " + text(m_failure.place);
    case Failure::DoesNotFollow:
        return "it ends without waiting for the kernel in front";
    case Failure::NothingToFollow:
        return "what was in front of it went wrong";
    }
    return {};
}

void BlockRunner::fail(Failure failure, SourcePlace place, std::size_t number)
{
    m_failure = {failure, place, number};
    m_hasFailed = true;
    Fiber &left = *m_current;
    m_current = &m_caller;
    Fiber::jump(left, m_caller);
    __builtin_unreachable(); // the fiber is made anew
}

} // namespace cudahost
