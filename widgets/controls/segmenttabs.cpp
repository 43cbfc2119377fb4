// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/segmenttabs.h"

namespace tokenloupe {

SegmentTabs::SegmentTabs(const QString &accessibleName, QWidget *parent)
    : QTabBar(parent)
{
    setAccessibleName(accessibleName);
    setDrawBase(false);
    setExpanding(false);
    setUsesScrollButtons(true);
    setElideMode(Qt::ElideNone);
    setFocusPolicy(Qt::TabFocus);
}

} // namespace tokenloupe
