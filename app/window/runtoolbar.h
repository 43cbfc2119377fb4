// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/inspectorcontext.h"

#include <QToolBar>

class QAction;
class QLabel;
class QMenu;
class QToolButton;

namespace tokenloupe {

/// The row on top: model, device, run control, position; at the right the three numbers that matter.
class RunToolBar : public QToolBar
{
    Q_OBJECT

public:
    struct Actions
    {
        QAction *run, *pause, *step, *stop, *branch;
    };
    RunToolBar(InspectorContext &context, const Actions &actions, QMenu *modelMenu, QMenu *deviceMenu,
               QWidget *parent = nullptr);

protected:
    void resizeEvent(QResizeEvent *event) override; ///< labels give way to numbers where there is no room

private:
    QToolButton *addActionButton(QAction *action);
    QToolButton *addMenuButton(QMenu *menu, const QString &accessibleName);
    void refreshStatus();
    void refreshPosition();
    void refreshMetrics();

    InspectorContext &m_context;
    QToolButton *m_model = nullptr;
    QToolButton *m_device = nullptr;
    QToolButton *m_run = nullptr;
    QToolButton *m_pause = nullptr;
    QLabel *m_position = nullptr;
    QLabel *m_metrics = nullptr;
    bool m_isNarrow = false;
};

} // namespace tokenloupe
