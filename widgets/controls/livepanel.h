// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/panel.h"

#include <QTimer>

namespace tokenloupe {

/// A panel whose content follows the run. Whatever happens in one turn of the event loop costs one refresh(),
/// and a panel that nobody sees costs none: it is refreshed when it is shown.
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

    QTimer m_soon;
    bool m_stale = true;
    int m_refreshes = 0;
};

} // namespace tokenloupe
