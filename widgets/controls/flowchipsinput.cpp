// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/flowchips.h"

#include <QAccessible>
#include <QClipboard>
#include <QGuiApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

namespace tokenloupe {

bool FlowChips::event(QEvent *event)
{
    // The keys that walk the chips are shortcuts of the window too (previous and next step): here they walk.
    if (event->type() == QEvent::ShortcutOverride && itemCount() > 0) {
        auto *key = static_cast<QKeyEvent *>(event);
        const bool walks = key->key() == Qt::Key_Left || key->key() == Qt::Key_Right ||
                           key->key() == Qt::Key_Home || key->key() == Qt::Key_End;
        if (walks && !(key->modifiers() & (Qt::ControlModifier | Qt::AltModifier))) {
            key->accept();
            return true;
        }
    }
    return QAbstractScrollArea::event(event);
}

bool FlowChips::viewportEvent(QEvent *event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto *help = static_cast<QHelpEvent *>(event);
        const int index = itemAt(help->pos());
        if (index >= 0)
            QToolTip::showText(help->globalPos(), m_provider->tooltip(index), viewport(), itemRect(index));
        else
            QToolTip::hideText();
        return true;
    }
    if (event->type() == QEvent::Leave)
        setHovered(-1);
    return QAbstractScrollArea::viewportEvent(event);
}

void FlowChips::setHovered(int index)
{
    if (m_hovered == index)
        return;
    m_hovered = index;
    viewport()->update();
    Q_EMIT hovered(index);
}

void FlowChips::mousePressEvent(QMouseEvent *event)
{
    if (event->button() != Qt::LeftButton)
        return;
    m_pressed = itemAt(event->position().toPoint());
    if (m_pressed < 0)
        return;
    const bool extend = event->modifiers() & Qt::ShiftModifier;
    m_current = m_pressed;
    if (!extend || m_anchor < 0)
        m_anchor = m_pressed;
    viewport()->update();
}

void FlowChips::mouseMoveEvent(QMouseEvent *event)
{
    const int index = itemAt(event->position().toPoint());
    setHovered(index);
    if ((event->buttons() & Qt::LeftButton) && m_pressed >= 0 && index >= 0 && index != m_current) {
        m_current = index;
        viewport()->update();
    }
}

void FlowChips::mouseReleaseEvent(QMouseEvent *event)
{
    const int index = itemAt(event->position().toPoint());
    if (event->button() == Qt::LeftButton && index >= 0 && index == m_pressed && m_current == m_anchor) {
        Q_EMIT currentChanged(index);
        Q_EMIT clicked(index);
    }
    m_pressed = -1;
}

void FlowChips::keyPressEvent(QKeyEvent *event)
{
    if (event->matches(QKeySequence::Copy)) {
        copySelection();
        return;
    }
    const int count = itemCount();
    if (count == 0) {
        QAbstractScrollArea::keyPressEvent(event);
        return;
    }
    if (event->matches(QKeySequence::SelectAll)) {
        m_anchor = 0;
        m_current = count - 1;
        viewport()->update();
        return;
    }
    // one row up or down: the item under (or over) the middle of the current one
    const auto vertical = [this, count](int rows) {
        if (m_current < 0)
            return 0;
        const QPoint middle = itemRect(m_current).center();
        const int row = std::max(0, rowOf(m_current) + rows);
        if (rows > 0)
            layOut(-1, (row + 1) * m_rowHeight);
        const int target = std::min(row, rowCount() - 1);
        const int end =
            target + 1 < rowCount() ? m_rows[static_cast<std::size_t>(target) + 1].first : m_laidOut;
        int best = m_rows[static_cast<std::size_t>(target)].first;
        while (best + 1 < end && itemRect(best + 1).left() <= middle.x())
            ++best;
        return std::min(best, count - 1);
    };
    const int page = std::max(1, viewport()->height() / std::max(1, m_rowHeight) - 1);
    switch (event->key()) {
    case Qt::Key_Left:
        moveCurrent(std::max(0, m_current - 1), event->modifiers());
        return;
    case Qt::Key_Right:
        moveCurrent(std::min(count - 1, m_current + 1), event->modifiers());
        return;
    case Qt::Key_Up:
        moveCurrent(vertical(-1), event->modifiers());
        return;
    case Qt::Key_Down:
        moveCurrent(vertical(1), event->modifiers());
        return;
    case Qt::Key_PageUp:
        moveCurrent(vertical(-page), event->modifiers());
        return;
    case Qt::Key_PageDown:
        moveCurrent(vertical(page), event->modifiers());
        return;
    case Qt::Key_Home:
        moveCurrent(0, event->modifiers());
        return;
    case Qt::Key_End:
        moveCurrent(count - 1, event->modifiers());
        return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
        if (m_current >= 0)
            Q_EMIT clicked(m_current);
        return;
    default:
        QAbstractScrollArea::keyPressEvent(event);
    }
}

void FlowChips::moveCurrent(int index, Qt::KeyboardModifiers modifiers)
{
    const int anchor = m_anchor;
    setCurrent(index);
    if ((modifiers & Qt::ShiftModifier) && anchor >= 0)
        m_anchor = anchor;
    // what a screen reader says: the item that the keyboard went to
    setAccessibleDescription(m_provider->tooltip(index));
    QAccessibleEvent announcement(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&announcement);
    Q_EMIT currentChanged(index);
}

void FlowChips::copySelection() const
{
    if (const QString text = selectedText(); !text.isEmpty())
        QGuiApplication::clipboard()->setText(text);
}

void FlowChips::focusInEvent(QFocusEvent *event)
{
    QAbstractScrollArea::focusInEvent(event);
    if (m_current < 0 && itemCount() > 0 &&
        (event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason))
        setCurrent(std::max(0, itemAt(QPoint(4, 4))));
    viewport()->update();
}

void FlowChips::focusOutEvent(QFocusEvent *event)
{
    QAbstractScrollArea::focusOutEvent(event);
    viewport()->update();
}

} // namespace tokenloupe
