// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/livepanel.h"

namespace tokenloupe {

LivePanel::LivePanel(const QString &title, QWidget *parent)
    : Panel(title, parent)
    , m_pace(
          [this] {
              if (m_stale && isVisible())
                  refreshNow();
          },
          this)
{}

void LivePanel::scheduleRefresh()
{
    m_stale = true;
    if (isVisible())
        m_pace.schedule();
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
    m_pace.refreshed();
    ++m_refreshes;
    refresh();
}

} // namespace tokenloupe
