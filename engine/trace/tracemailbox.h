// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/trace/steprecord.h"

#include <mutex>
#include <string>
#include <variant>
#include <vector>

namespace tokenloupe {

struct RunEnded
{
    RunId run;
    EndReason reason = EndReason::Stop;
};
/// The run was rewound: steps from `from` on are gone.
struct RunTruncated
{
    RunId run;
    StepIndex from;
};

/// Another run that is still open is the one that goes on.
struct RunActivated
{
    RunId run;
};

using TraceEvent = std::variant<RunRecord, StepRecord, RunEnded, RunTruncated, RunActivated>;

/// Engine thread -> GUI: events in order, handed over by swapping a vector under a short lock.
class TraceMailbox
{
public:
    void post(TraceEvent event);
    /// Everything since the last call, oldest first. `spare` is emptied and swapped in, so that its memory is
    /// reused.
    void take(std::vector<TraceEvent> &spare);
    /// Forgets what is waiting.
    void clear();

private:
    std::mutex m_mutex;
    std::vector<TraceEvent> m_events;
};

} // namespace tokenloupe
