// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <stop_token>
#include <thread>

namespace tokenloupe::cli {

/// Ctrl+C becomes a stop request. The handler only writes a byte to a pipe; a thread that waits there does
/// the rest. A second Ctrl+C ends the program at once. One object a program, from before any other thread is
/// started.
class Interrupt
{
public:
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt &) = delete;
    Interrupt &operator=(const Interrupt &) = delete;

    std::stop_token token() const { return m_source.get_token(); }
    bool happened() const { return m_source.stop_requested(); }

private:
    std::stop_source m_source;
    int m_readEnd = -1;
    int m_writeEnd = -1;
    std::thread m_waiter;
};

} // namespace tokenloupe::cli
