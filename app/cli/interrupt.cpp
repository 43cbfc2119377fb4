// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/interrupt.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace tokenloupe::cli {

namespace {

constexpr char interrupted = 'i';
constexpr char leave = 'l';
std::atomic<int> handlerPipe{-1};
std::atomic<int> handlerCalls{0};

void onInterrupt(int)
{
    const int saved = errno;
    if (handlerCalls.fetch_add(1) > 0)
        _exit(130);
    const int pipeEnd = handlerPipe.load();
    if (pipeEnd >= 0)
        static_cast<void>(!write(pipeEnd, &interrupted, 1));
    errno = saved;
}

} // namespace

Interrupt::Interrupt()
{
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
        return; // Ctrl+C then ends the program as it does any other
    m_readEnd = ends[0];
    m_writeEnd = ends[1];
    m_waiter = std::thread([this] {
        for (;;) {
            char byte = 0;
            const auto got = read(m_readEnd, &byte, 1);
            if (got < 0 && errno == EINTR)
                continue;
            if (got != 1 || byte == leave)
                return;
            m_source.request_stop();
        }
    });
    handlerPipe.store(m_writeEnd);
    struct sigaction action = {};
    action.sa_handler = onInterrupt;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, nullptr);
}

Interrupt::~Interrupt()
{
    if (!m_waiter.joinable())
        return;
    std::signal(SIGINT, SIG_DFL);
    handlerPipe.store(-1);
    static_cast<void>(!write(m_writeEnd, &leave, 1));
    m_waiter.join();
    close(m_readEnd);
    close(m_writeEnd);
}

} // namespace tokenloupe::cli
