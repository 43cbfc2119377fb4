// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDockWidget>

namespace tokenloupe {

class Panel;

/// A dock whose title bar is the panel's own heading: drag it to move the dock, double click to float it.
class PanelDock : public QDockWidget
{
    Q_OBJECT

public:
    PanelDock(const QString &name, Panel *panel, QWidget *parent);

    Panel *panel() const { return m_panel; }

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    Panel *m_panel;
};

} // namespace tokenloupe
