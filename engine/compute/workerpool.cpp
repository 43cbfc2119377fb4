// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/workerpool.h"

#include <chrono>
#include <system_error>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace tokenloupe {

namespace {

using Clock = std::chrono::steady_clock;

// Longer than the gap between two tokens (sampling, trace record), shorter than anybody notices as load.
constexpr std::chrono::microseconds spinTime{300};
// Where there are more threads than cores, the one that is waited for may need this core.
constexpr std::chrono::microseconds politeAfter{40};
constexpr int spinsPerLook = 64;
constexpr std::uint32_t lineBytes = 64;

void relax()
{
#if defined(__x86_64__) || defined(__i386__)
    _mm_pause();
#else
    std::this_thread::yield();
#endif
}

/// Spins until `done` or the deadline; gives the core away between looks once it has waited a little.
template <class Done>
bool spinUntil(const Done &done, std::chrono::microseconds limit)
{
    for (int i = 0; i < spinsPerLook; ++i) {
        if (done())
            return true;
        relax();
    }
    const Clock::time_point begin = Clock::now();
    for (;;) {
        for (int i = 0; i < spinsPerLook; ++i) {
            if (done())
                return true;
            relax();
        }
        const Clock::duration waited = Clock::now() - begin;
        if (waited > limit)
            return done();
        if (waited > politeAfter)
            std::this_thread::yield();
    }
}

} // namespace

Result<std::unique_ptr<WorkerPool>> WorkerPool::create(int threads)
{
    if (threads < 1 || threads > maxThreads)
        return makeError(ErrorCode::InvalidArgument, "threads",
                         "expected 1 to " + std::to_string(maxThreads) + ", got " + std::to_string(threads));
    std::unique_ptr<WorkerPool> pool(new WorkerPool);
    pool->m_ahead = std::make_unique<Ahead[]>(static_cast<std::size_t>(threads));
    try {
        pool->m_threads.reserve(static_cast<std::size_t>(threads - 1));
        for (int worker = 1; worker < threads; ++worker)
            pool->m_threads.emplace_back([raw = pool.get(), worker] { raw->loop(worker); });
    } catch (const std::system_error &error) {
        return makeError(ErrorCode::OutOfMemory, "start " + std::to_string(threads) + " threads",
                         error.what());
    }
    return pool;
}

WorkerPool::~WorkerPool()
{
    if (m_threads.empty())
        return;
    open(nullptr, nullptr); // and never closed: each joins once, and ends
    for (std::thread &thread : m_threads)
        thread.join();
}

void WorkerPool::open(Call call, const void *context)
{
    m_call = call;
    m_context = context;
    const std::uint64_t run = m_state.load(std::memory_order_relaxed) / firstRun + 1;
    // Both sides use sequential consistency: either this sees the sleeper, or the sleeper sees the new run.
    m_state.store(run * firstRun, std::memory_order_seq_cst);
    if (m_sleeping.load(std::memory_order_seq_cst) > 0) {
        const std::lock_guard lock(m_mutex);
        m_wake.notify_all();
    }
}

void WorkerPool::close()
{
    m_state.fetch_or(closedFlag, std::memory_order_acq_rel);
    const auto done = [this] { return m_state.load(std::memory_order_acquire) % closedFlag == 0; };
    while (!spinUntil(done, spinTime)) {
    }
}

bool WorkerPool::isNewRun(std::uint64_t state, std::uint64_t last)
{
    return (state & closedFlag) == 0 && state / firstRun != last;
}

/// Sleeps until there is a run to join, or there was one: then the next is near.
void WorkerPool::sleep(std::uint64_t last)
{
    std::unique_lock lock(m_mutex);
    const std::uint64_t seen = m_state.load(std::memory_order_relaxed) / firstRun;
    m_sleeping.fetch_add(1, std::memory_order_seq_cst);
    m_wake.wait(lock, [&] {
        const std::uint64_t state = m_state.load(std::memory_order_seq_cst);
        return state / firstRun != seen || isNewRun(state, last);
    });
    m_sleeping.fetch_sub(1, std::memory_order_seq_cst);
}

/// Joins the next run that is open and not number `last`; its number.
std::uint64_t WorkerPool::join(std::uint64_t last)
{
    for (;;) {
        std::uint64_t state = m_state.load(std::memory_order_relaxed);
        while (isNewRun(state, last)) {
            if (m_state.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel))
                return state / firstRun;
        }
        const auto opened = [this, last] { return isNewRun(m_state.load(std::memory_order_relaxed), last); };
        if (!spinUntil(opened, spinTime))
            sleep(last);
    }
}

void WorkerPool::fetchNext(int worker, const std::byte *begin, std::uint32_t bytes)
{
    if (worker == 0) {
        for (std::uint32_t i = 0; i < bytes; i += lineBytes)
            __builtin_prefetch(begin + i);
        return;
    }
    Ahead &ahead = m_ahead[static_cast<std::size_t>(worker)];
    ahead.begin.store(begin, std::memory_order_relaxed);
    ahead.bytes.store(bytes, std::memory_order_relaxed);
}

/// What fetchNext() said, until there is a run to join. A hint that is torn or late costs time only.
void WorkerPool::fetchAhead(int worker, std::uint64_t run)
{
    constexpr std::uint32_t step = 512;
    Ahead &ahead = m_ahead[static_cast<std::size_t>(worker)];
    const std::byte *begin = ahead.begin.load(std::memory_order_relaxed);
    const std::uint32_t bytes = ahead.bytes.exchange(0, std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < bytes; i += step) {
        if (isNewRun(m_state.load(std::memory_order_relaxed), run))
            return;
        for (std::uint32_t line = 0; line < step; line += lineBytes)
            __builtin_prefetch(begin + i + line, 0, 2);
    }
}

void WorkerPool::loop(int worker)
{
    for (std::uint64_t run = 0;;) {
        run = join(run);
        if (!m_call)
            return;
        m_call(m_context, worker);
        m_state.fetch_sub(1, std::memory_order_release);
        fetchAhead(worker, run);
    }
}

} // namespace tokenloupe
