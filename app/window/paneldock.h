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
    /// Whether a tab stands above it: then the heading need not say the title again.
    bool isTabbed() const;

protected:
    void paintEvent(QPaintEvent *event) override;
    void showEvent(QShowEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;

private:
    Panel *m_panel;
};

} // namespace tokenloupe
