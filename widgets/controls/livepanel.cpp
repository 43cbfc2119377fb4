// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/livepanel.h"

namespace tokenloupe {

LivePanel::LivePanel(const QString &title, QWidget *parent)
    : Panel(title, parent)
{
    m_soon.setSingleShot(true);
    m_soon.setInterval(0);
    connect(&m_soon, &QTimer::timeout, this, [this] {
        if (m_stale && isVisible())
            refreshNow();
    });
}

void LivePanel::scheduleRefresh()
{
    m_stale = true;
    if (isVisible() && !m_soon.isActive())
        m_soon.start();
}

void LivePanel::showEvent(QShowEvent *event)
{
    Panel::showEvent(event);
    if (m_stale)
        refreshNow();
}

void LivePanel::refreshNow()
{
    m_stale = false;
    m_soon.stop();
    ++m_refreshes;
    refresh();
}

} // namespace tokenloupe
