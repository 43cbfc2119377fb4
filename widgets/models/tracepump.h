// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/trace/tracemailbox.h"

#include <QObject>
#include <QTimer>
#include <vector>

namespace tokenloupe {

class RunStore;

/// Moves what the engine recorded into the RunStore: one batch per 16 ms tick, on the GUI thread.
class TracePump : public QObject
{
    Q_OBJECT

public:
    TracePump(TraceMailbox &mailbox, RunStore &store, QObject *parent = nullptr);

    static constexpr int tickMs = 16;
    void pumpNow(); ///< one tick at once (tests; before a state change is shown)

private:
    TraceMailbox &m_mailbox;
    RunStore &m_store;
    QTimer m_timer;
    std::vector<TraceEvent> m_batch;
};

} // namespace tokenloupe
