// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tokenloupe {

/// Threads that work on the same thing together. The thread that calls run() is worker 0; the others spin for
/// a fraction of a millisecond after each run, so that the next one starts at once, and then sleep, so that
/// an idle program uses no CPU. run() is for one thread at a time; the work must not throw or call run().
///
/// A run ends when worker 0 and all who joined it are done: a thread that the system does not let run just
/// then holds up nobody. So the work has to be shared out in pieces that whoever is there takes
/// (StretchQueue).
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

    /// Calls work(0) here and work(worker) on every other worker that is there before this one is done.
    template <class Work>
    void run(const Work &work)
    {
        if (m_threads.empty()) {
            work(0);
            return;
        }
        open([](const void *context, int worker) { (*static_cast<const Work *>(context))(worker); }, &work);
        work(0);
        close();
    }

    /// Memory that the worker will read first in the next run: it fetches it into its cache when it has
    /// nothing else to do. For the caller's own worker it is fetched at once, so it should be little.
    /// Reading ahead changes nothing but time; the memory need not exist any more.
    void fetchNext(int worker, const std::byte *begin, std::uint32_t bytes);

private:
    static constexpr std::uint64_t closedFlag = std::uint64_t(1) << 31;
    static constexpr std::uint64_t firstRun = std::uint64_t(1) << 32;

    using Call = void (*)(const void *context, int worker);

    WorkerPool() = default;
    void open(Call call, const void *context);
    void close();
    void loop(int worker);
    std::uint64_t join(std::uint64_t last);
    void fetchAhead(int worker, std::uint64_t run);
    void sleep(std::uint64_t last);
    static bool isNewRun(std::uint64_t state, std::uint64_t last);

    // Written before a run opens, read by those who joined it, not touched again before all of them are done.
    Call m_call = nullptr; // nullptr: end
    const void *m_context = nullptr;
    // Number of the run · 2^32 + closed · 2^31 + workers who joined and are not done: joining is one atomic
    // step.
    alignas(64) std::atomic<std::uint64_t> m_state{closedFlag};
    alignas(64) std::atomic<int> m_sleeping{0};
    struct alignas(64) Ahead
    {
        std::atomic<const std::byte *> begin{nullptr};
        std::atomic<std::uint32_t> bytes{0};
    };
    std::unique_ptr<Ahead[]> m_ahead; // one for each worker
    std::mutex m_mutex;
    std::condition_variable m_wake;
    std::vector<std::thread> m_threads;
};

} // namespace tokenloupe
