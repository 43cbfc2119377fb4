// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <stop_token>

namespace tokenloupe {

/// What a command is about. A newer command replaces a waiting one of its tag.
enum class CommandTag : std::uint8_t {
    Model,
    Reply,
    Control,
    Stop,
    Force,
    Sampler,
    Cache,
    Branch,
    Measure,
    Compare,
    Operations,
};

struct EngineCommand
{
    CommandTag tag = CommandTag::Control;
    std::stop_source stop; ///< of this command alone
    std::function<void(std::stop_token)> work;
    std::function<void()> dropped =
        {}; ///< called on the posting thread when it is replaced or cancelled while waiting
};

/// Commands for the engine thread, in order of arrival. Posting never waits for the engine.
class CommandQueue
{
public:
    /// A waiting command of the same tag is dropped; the new one goes to the end.
    void post(EngineCommand command);
    /// The next command; without one, waits for it (`Wait::Yes`) or returns nothing. Nothing also after
    /// close().
    enum class Wait : bool { No, Yes };
    std::optional<EngineCommand> next(Wait wait);
    /// Drops waiting commands of these tags, and tells the one that is being worked on to stop if it is among
    /// them.
    void cancel(std::initializer_list<CommandTag> tags);
    void finished(); ///< the worker is done with the command that next() gave
    void close();    ///< wakes the worker for good; stops what it works on
    bool isClosed() const;

private:
    std::deque<EngineCommand> takeWaiting(const std::function<bool(CommandTag)> &which); // with the lock held
    static void tellDropped(const std::deque<EngineCommand> &commands);

    mutable std::mutex m_mutex;
    std::condition_variable m_arrived;
    std::deque<EngineCommand> m_waiting;
    std::optional<CommandTag> m_workingTag;
    std::stop_source m_working;
    bool m_closed = false;
};

} // namespace tokenloupe
