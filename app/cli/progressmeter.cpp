// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/progressmeter.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <unistd.h>

namespace tokenloupe::cli {

ProgressMeter::ProgressMeter(std::string label)
    : m_label(std::move(label))
{
    if (!isatty(STDERR_FILENO))
        return;
    m_thread = std::jthread([this](const std::stop_token &stop) {
        using namespace std::chrono_literals;
        std::mutex mutex;
        std::condition_variable_any tick;
        std::unique_lock lock(mutex);
        bool drawn = false;
        // Nothing is drawn for work that is over at once.
        while (!tick.wait_for(lock, stop, drawn ? 100ms : 300ms, [&] { return stop.stop_requested(); })) {
            const auto total = m_progress.total.load(std::memory_order_relaxed);
            const auto done = m_progress.done.load(std::memory_order_relaxed);
            if (total > 0)
                std::fprintf(stderr, "\r%s %3.0f %%", m_label.c_str(),
                             100.0 * static_cast<double>(done) / static_cast<double>(total));
            else
                std::fprintf(stderr, "\r%s …", m_label.c_str());
            std::fflush(stderr);
            drawn = true;
        }
        if (drawn)
            std::fprintf(stderr, "\r\x1b[K");
    });
}

ProgressMeter::~ProgressMeter() = default;

} // namespace tokenloupe::cli
