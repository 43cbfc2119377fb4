// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/operationtimes.h"

#include <chrono>
#include <optional>
#include <utility>

namespace tokenloupe {

/// Times of operations by the host's clock, for backends whose calls return when their work is done. An
/// operation that calls another one is not counted while that runs.
class OperationWatch
{
public:
    void turn(Measuring measuring)
    {
        m_isOn = measuring == Measuring::On;
        m_times = {};
    }
    OperationTimes take() { return std::exchange(m_times, {}); }

    /// Counts its own lifetime as `operation`.
    class Scope
    {
    public:
        Scope(OperationWatch &watch, Operation operation)
            : m_watch(watch)
        {
            if (m_watch.m_isOn)
                m_before = m_watch.change(operation);
        }
        ~Scope()
        {
            if (m_watch.m_isOn)
                m_watch.change(m_before);
        }
        Scope(const Scope &) = delete;
        Scope &operator=(const Scope &) = delete;

    private:
        OperationWatch &m_watch;
        std::optional<Operation> m_before;
    };

private:
    using Clock = std::chrono::steady_clock;

    std::optional<Operation> change(std::optional<Operation> next)
    {
        const Clock::time_point now = Clock::now();
        if (m_current)
            m_times.add(*m_current, std::chrono::duration<float, std::milli>(now - m_since).count());
        m_since = now;
        return std::exchange(m_current, next);
    }

    bool m_isOn = false;
    OperationTimes m_times;
    std::optional<Operation> m_current;
    Clock::time_point m_since;
};

} // namespace tokenloupe
