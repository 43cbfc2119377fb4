// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tokenloupe {

/// Threads that run the same function together. The thread that calls run() is worker 0; the others spin for
/// a fraction of a millisecond after each run, so that the next one starts at once, and then sleep, so that
/// an idle program uses no CPU. run() is for one thread at a time; the work must not throw or call run().
class WorkerPool
{
public:
    static constexpr int maxThreads = 256;

    /// 1 ≤ threads ≤ maxThreads, the caller's included.
    static Result<std::unique_ptr<WorkerPool>> create(int threads);
    ~WorkerPool();
    WorkerPool(const WorkerPool &) = delete;
    WorkerPool &operator=(const WorkerPool &) = delete;

    int threads() const { return static_cast<int>(m_threads.size()) + 1; }
    /// How many workers have gone to sleep.
    int sleeping() const { return m_sleeping.load(std::memory_order_relaxed); }

    /// Calls work(worker) for every worker and returns when all are done.
    template <class Work>
    void run(const Work &work)
    {
        if (m_threads.empty()) {
            work(0);
            return;
        }
        publish([](const void *context, int worker) { (*static_cast<const Work *>(context))(worker); },
                &work);
        work(0);
        waitForOthers();
    }

private:
    using Call = void (*)(const void *context, int worker);

    WorkerPool() = default;
    void publish(Call call, const void *context);
    void waitForOthers() const;
    void loop(int worker);
    void waitForWork(std::uint32_t seen);

    // Written by the caller of run() before the epoch is raised, read by workers after they saw it rise.
    Call m_call = nullptr; // nullptr: end
    const void *m_context = nullptr;
    alignas(64) std::atomic<std::uint32_t> m_epoch{0};
    alignas(64) std::atomic<int> m_busy{0};
    alignas(64) std::atomic<int> m_sleeping{0};
    std::mutex m_mutex;
    std::condition_variable m_wake;
    std::vector<std::thread> m_threads;
};

} // namespace tokenloupe
