// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace tokenloupe {

/// A thread that works on the newest job only: one that waits is replaced by a newer one. `work` runs on the
/// thread; it delivers its result itself (a queued call). Destruction waits for the job that is being worked
/// on.
template <class Job>
class LatestWorker
{
public:
    explicit LatestWorker(std::function<void(Job &)> work)
        : m_work(std::move(work))
        , m_thread([this] { loop(); })
    {}

    ~LatestWorker()
    {
        {
            const std::lock_guard lock(m_mutex);
            m_closed = true;
        }
        m_arrived.notify_one();
        m_thread.join();
    }

    LatestWorker(const LatestWorker &) = delete;
    LatestWorker &operator=(const LatestWorker &) = delete;

    void post(Job job)
    {
        {
            const std::lock_guard lock(m_mutex);
            m_job = std::move(job);
        }
        m_arrived.notify_one();
    }

private:
    void loop()
    {
        for (;;) {
            std::optional<Job> job;
            {
                std::unique_lock lock(m_mutex);
                m_arrived.wait(lock, [this] { return m_closed || m_job; });
                if (m_closed)
                    return;
                job.swap(m_job);
            }
            m_work(*job);
        }
    }

    std::function<void(Job &)> m_work;
    std::mutex m_mutex;
    std::condition_variable m_arrived;
    std::optional<Job> m_job;
    bool m_closed = false;
    std::jthread m_thread; // last: starts when all else is there
};

} // namespace tokenloupe
