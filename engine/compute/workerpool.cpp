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
    publish(nullptr, nullptr);
    for (std::thread &thread : m_threads)
        thread.join();
}

void WorkerPool::publish(Call call, const void *context)
{
    m_call = call;
    m_context = context;
    m_busy.store(static_cast<int>(m_threads.size()), std::memory_order_relaxed);
    // Both sides use sequential consistency: either this sees the sleeper, or the sleeper sees the new epoch.
    m_epoch.fetch_add(1, std::memory_order_seq_cst);
    if (m_sleeping.load(std::memory_order_seq_cst) > 0) {
        const std::lock_guard lock(m_mutex);
        m_wake.notify_all();
    }
}

void WorkerPool::waitForOthers() const
{
    const auto done = [this] { return m_busy.load(std::memory_order_acquire) == 0; };
    while (!spinUntil(done, spinTime)) {
    }
}

void WorkerPool::waitForWork(std::uint32_t seen)
{
    const auto risen = [this, seen] { return m_epoch.load(std::memory_order_seq_cst) != seen; };
    if (spinUntil(risen, spinTime))
        return;
    std::unique_lock lock(m_mutex);
    m_sleeping.fetch_add(1, std::memory_order_seq_cst);
    m_wake.wait(lock, risen);
    m_sleeping.fetch_sub(1, std::memory_order_seq_cst);
}

void WorkerPool::loop(int worker)
{
    for (std::uint32_t seen = 0;; ++seen) {
        waitForWork(seen);
        if (!m_call)
            return;
        m_call(m_context, worker);
        m_busy.fetch_sub(1, std::memory_order_release);
    }
}

} // namespace tokenloupe
