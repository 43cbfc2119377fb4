// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/tracemailbox.h"

#include <utility>

namespace tokenloupe {

void TraceMailbox::post(TraceEvent event)
{
    const std::lock_guard lock(m_mutex);
    m_events.push_back(std::move(event));
}

void TraceMailbox::take(std::vector<TraceEvent> &spare)
{
    spare.clear(); // before the lock: destroying the events takes longer than the swap
    const std::lock_guard lock(m_mutex);
    m_events.swap(spare);
}

void TraceMailbox::clear()
{
    std::vector<TraceEvent> gone;
    take(gone);
}

} // namespace tokenloupe
