// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/commandqueue.h"

#include <algorithm>

namespace tokenloupe {

std::deque<EngineCommand> CommandQueue::takeWaiting(const std::function<bool(CommandTag)> &which)
{
    std::deque<EngineCommand> taken, kept;
    for (EngineCommand &command : m_waiting)
        (which(command.tag) ? taken : kept).push_back(std::move(command));
    m_waiting = std::move(kept);
    return taken;
}

void CommandQueue::tellDropped(const std::deque<EngineCommand> &commands)
{
    for (const EngineCommand &command : commands) {
        if (command.dropped)
            command.dropped();
    }
}

void CommandQueue::post(EngineCommand command)
{
    std::deque<EngineCommand> replaced;
    {
        const std::lock_guard lock(m_mutex);
        const CommandTag tag = command.tag;
        replaced = takeWaiting([tag](CommandTag waiting) { return waiting == tag; });
        // A new model or reply also ends the one that is being made. Other commands are short, and to cut
        // them off would end a reply that was only to be stepped on.
        if (m_workingTag == tag && (tag == CommandTag::Model || tag == CommandTag::Reply))
            m_working.request_stop();
        m_waiting.push_back(std::move(command));
    }
    m_arrived.notify_one();
    tellDropped(replaced);
}

std::optional<EngineCommand> CommandQueue::next(Wait wait)
{
    std::unique_lock lock(m_mutex);
    if (wait == Wait::Yes)
        m_arrived.wait(lock, [this] { return m_closed || !m_waiting.empty(); });
    if (m_closed || m_waiting.empty())
        return std::nullopt;
    EngineCommand command = std::move(m_waiting.front());
    m_waiting.pop_front();
    m_workingTag = command.tag;
    m_working = command.stop;
    return command;
}

void CommandQueue::cancel(std::initializer_list<CommandTag> tags)
{
    const auto isMeant = [tags](CommandTag tag) {
        return std::find(tags.begin(), tags.end(), tag) != tags.end();
    };
    std::deque<EngineCommand> cancelled;
    {
        const std::lock_guard lock(m_mutex);
        cancelled = takeWaiting(isMeant);
        if (m_workingTag && isMeant(*m_workingTag))
            m_working.request_stop();
    }
    tellDropped(cancelled);
}

void CommandQueue::finished()
{
    const std::lock_guard lock(m_mutex);
    m_workingTag.reset();
    m_working = std::stop_source(std::nostopstate);
}

void CommandQueue::close()
{
    {
        const std::lock_guard lock(m_mutex);
        m_closed = true;
        if (m_workingTag)
            m_working.request_stop();
    }
    m_arrived.notify_all();
}

bool CommandQueue::isClosed() const
{
    const std::lock_guard lock(m_mutex);
    return m_closed;
}

} // namespace tokenloupe
