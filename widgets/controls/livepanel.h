// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/panel.h"
#include "widgets/controls/refreshpace.h"

namespace tokenloupe {

/// A panel whose content follows the run, at the pace of the program (see RefreshPace). A panel that nobody
/// sees costs nothing: it is refreshed when it is shown.
class LivePanel : public Panel
{
    Q_OBJECT

public:
    explicit LivePanel(const QString &title, QWidget *parent = nullptr);

    int refreshCount() const { return m_refreshes; } ///< (tests)

protected:
    void scheduleRefresh();
    virtual void refresh() = 0;
    void showEvent(QShowEvent *event) override;

private:
    void refreshNow();

    RefreshPace m_pace;
    bool m_stale = true;
    int m_refreshes = 0;
};

} // namespace tokenloupe
