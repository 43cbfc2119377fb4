// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTabBar>

namespace tokenloupe {

/// Tabs in the place of a panel's heading: text left-aligned with an accent underline below the current one,
/// and no line of its own under the others. To be paired with a stacked widget by the owner.
class SegmentTabs : public QTabBar
{
    Q_OBJECT

public:
    explicit SegmentTabs(const QString &accessibleName, QWidget *parent = nullptr);
};

} // namespace tokenloupe
