// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/celltable.h"

#include "widgets/theme/theme.h"

#include <QHeaderView>
#include <QMouseEvent>

namespace tokenloupe {

CellTable::CellTable(const QString &accessibleName, QWidget *parent)
    : QTableView(parent)
{
    const Theme &theme = Theme::instance();
    setAccessibleName(accessibleName);
    setFrameShape(QFrame::NoFrame);
    setShowGrid(false);
    setSelectionBehavior(SelectRows);
    setSelectionMode(SingleSelection);
    setEditTriggers(NoEditTriggers);
    setHorizontalScrollMode(ScrollPerPixel);
    setVerticalScrollMode(ScrollPerPixel);
    setMouseTracking(true);
    setTabKeyNavigation(false);
    setWordWrap(false);
    verticalHeader()->hide();
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    verticalHeader()->setDefaultSectionSize(theme.scaled(22));
    verticalHeader()->setMinimumSectionSize(theme.scaled(22));
    horizontalHeader()->setHighlightSections(false);
    horizontalHeader()->setSectionsClickable(false);
    horizontalHeader()->setFont(theme.font(TextRole::Small));
    horizontalHeader()->setMinimumSectionSize(theme.scaled(24));
}

void CellTable::setHoveredRow(int row)
{
    if (row == m_hovered)
        return;
    m_hovered = row;
    viewport()->update();
    Q_EMIT rowHovered(row);
}

void CellTable::mouseMoveEvent(QMouseEvent *event)
{
    QTableView::mouseMoveEvent(event);
    setHoveredRow(indexAt(event->position().toPoint()).row());
}

void CellTable::leaveEvent(QEvent *event)
{
    QTableView::leaveEvent(event);
    setHoveredRow(-1);
}

} // namespace tokenloupe
