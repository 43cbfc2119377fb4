// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/tracepump.h"

#include "widgets/models/runstore.h"

namespace tokenloupe {

TracePump::TracePump(TraceMailbox &mailbox, RunStore &store, QObject *parent)
    : QObject(parent)
    , m_mailbox(mailbox)
    , m_store(store)
{
    m_timer.setInterval(tickMs);
    m_timer.setTimerType(Qt::PreciseTimer);
    connect(&m_timer, &QTimer::timeout, this, &TracePump::pumpNow);
    m_timer.start();
}

void TracePump::pumpNow()
{
    m_mailbox.take(m_batch);
    if (!m_batch.empty())
        m_store.apply(m_batch);
}

} // namespace tokenloupe
