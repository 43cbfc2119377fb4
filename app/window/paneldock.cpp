// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/paneldock.h"

#include "widgets/controls/panel.h"
#include "widgets/theme/appstyle.h"
#include "widgets/theme/theme.h"

#include <QMainWindow>
#include <QPainter>

namespace tokenloupe {

PanelDock::PanelDock(const QString &name, Panel *panel, QWidget *parent)
    : QDockWidget(panel->title(), parent)
    , m_panel(panel)
{
    setObjectName(name); // saveState() knows docks by it
    setFeatures(DockWidgetClosable | DockWidgetMovable | DockWidgetFloatable);
    setTitleBarWidget(panel->takeHeading());
    setWidget(panel);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

bool PanelDock::isTabbed() const
{
    const auto *window = qobject_cast<QMainWindow *>(parentWidget());
    return window && !isFloating() && !window->tabifiedDockWidgets(const_cast<PanelDock *>(this)).isEmpty();
}

void PanelDock::showEvent(QShowEvent *event)
{
    QDockWidget::showEvent(event);
    m_panel->setTitleVisible(!isTabbed());
}

void PanelDock::resizeEvent(QResizeEvent *event)
{
    QDockWidget::resizeEvent(event);
    m_panel->setTitleVisible(!isTabbed());
}

void PanelDock::paintEvent(QPaintEvent *)
{
    // The frame goes round heading and content; the panel itself paints none once its heading was taken.
    const ThemeColors &colors = Theme::instance().colors();
    QPainter painter(this);
    if (isFloating())
        painter.fillRect(rect(), colors.window);
    drawRounded(painter, rect(), AppStyle::panelRadius, colors.panel, colors.line);
}

} // namespace tokenloupe
