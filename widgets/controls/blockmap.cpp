// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/blockmap.h"

#include "widgets/theme/appstyle.h"
#include "widgets/theme/theme.h"

#include <QAccessible>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

namespace tokenloupe {

namespace {

constexpr int margin = 3; // room for the outlines of the outer squares

int gapFor(int side)
{
    const Theme &theme = Theme::instance();
    return side >= theme.scaled(12) ? theme.scaled(4) : side >= theme.scaled(8) ? 2 : 1;
}

} // namespace

BlockMap::BlockMap(QWidget *parent)
    : QWidget(parent)
{
    setMouseTracking(true);
    setFocusPolicy(Qt::TabFocus);
    setAccessibleName(tr("Blocks"));
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void BlockMap::setBlocks(std::vector<Block> blocks)
{
    if (blocks == m_blocks)
        return;
    const bool resized = blocks.size() != m_blocks.size();
    m_blocks = std::move(blocks);
    if (resized) {
        m_hovered = m_current = -1;
        arrange();
        updateGeometry();
    }
    update();
}

void BlockMap::setBlockText(std::function<QString(int)> text)
{
    m_text = std::move(text);
}

int BlockMap::largestHeight(int width) const
{
    const int side = Theme::instance().scaled(16);
    const int step = side + gapFor(side);
    const int columns = std::max(1, (width - 2 * margin + gapFor(side)) / step);
    const int count = std::max(1, static_cast<int>(m_blocks.size()));
    return (count + columns - 1) / columns * step - gapFor(side) + 2 * margin;
}

QSize BlockMap::sizeHint() const
{
    const Theme &theme = Theme::instance();
    const int width = theme.scaled(300);
    return QSize(width, std::min(largestHeight(width), theme.scaled(120)));
}

QSize BlockMap::minimumSizeHint() const
{
    const Theme &theme = Theme::instance();
    return QSize(theme.scaled(120), std::min(sizeHint().height(), theme.scaled(46)));
}

int BlockMap::squares() const
{
    return (static_cast<int>(m_blocks.size()) + m_perSquare - 1) / m_perSquare;
}

// The largest squares that fit; when the smallest do not, several blocks share one.
void BlockMap::arrange()
{
    const Theme &theme = Theme::instance();
    const int count = static_cast<int>(m_blocks.size());
    const int before = m_perSquare;
    // never higher than all blocks as largest squares need
    setMaximumHeight(largestHeight(width()));
    const auto fits = [this, &theme] {
        for (m_side = theme.scaled(16); m_side >= theme.scaled(5); --m_side) {
            m_gap = gapFor(m_side);
            m_columns = std::max(1, (width() - 2 * margin + m_gap) / (m_side + m_gap));
            const int rows = (squares() + m_columns - 1) / m_columns;
            if (rows * (m_side + m_gap) - m_gap <= height() - 2 * margin)
                return true;
        }
        return false;
    };
    for (m_perSquare = 1; !fits() && m_perSquare < count;)
        m_perSquare *= 2;
    m_side = std::max(1, m_side);
    if (m_perSquare != before) {
        m_hovered = m_current = -1;
        Q_EMIT squareBlocksChanged(m_perSquare);
    }
}

QRect BlockMap::squareRect(int index) const
{
    return QRect(margin + (index % m_columns) * (m_side + m_gap),
                 margin + (index / m_columns) * (m_side + m_gap), m_side, m_side);
}

QRect BlockMap::blockRect(int block) const
{
    return squareRect(block / m_perSquare);
}

int BlockMap::blockAt(const QPoint &pos) const
{
    const int step = m_side + m_gap;
    const QPoint at = pos - QPoint(margin, margin);
    if (at.x() < 0 || at.y() < 0 || at.x() % step >= m_side || at.y() % step >= m_side ||
        at.x() / step >= m_columns)
        return -1;
    const int index = at.y() / step * m_columns + at.x() / step;
    return index < squares() ? index * m_perSquare : -1;
}

Block BlockMap::square(int index) const
{
    const std::size_t first = static_cast<std::size_t>(index) * static_cast<std::size_t>(m_perSquare);
    const std::size_t last = std::min(first + static_cast<std::size_t>(m_perSquare), m_blocks.size());
    return mergedBlock(m_blocks.data() + first, m_blocks.data() + last);
}

void BlockMap::paintEvent(QPaintEvent *)
{
    const ThemeColors &c = Theme::instance().colors();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    for (int i = 0; i < squares(); ++i)
        paintBlock(painter, squareRect(i), square(i), m_gap);
    const double radius = std::min(3.0, m_side / 4.0);
    const auto ring = [&](int index, double pen) {
        painter.setPen(QPen(c.text, pen));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(QRectF(squareRect(index)).adjusted(-1, -1, 1, 1), radius + 1, radius + 1);
    };
    if (m_hovered >= 0)
        ring(m_hovered, 1.5);
    if (m_current >= 0 && hasFocus())
        ring(m_current, 2.5);
}

void BlockMap::resizeEvent(QResizeEvent *)
{
    arrange();
}

bool BlockMap::event(QEvent *event)
{
    // The keys that walk the blocks are shortcuts of the window too (previous and next step): here they walk.
    if (event->type() == QEvent::ShortcutOverride && squares() > 0) {
        auto *key = static_cast<QKeyEvent *>(event);
        const bool walks = key->key() == Qt::Key_Left || key->key() == Qt::Key_Right ||
                           key->key() == Qt::Key_Home || key->key() == Qt::Key_End;
        if (walks && key->modifiers() == Qt::NoModifier) {
            key->accept();
            return true;
        }
    }
    if (event->type() == QEvent::ToolTip) {
        const auto *help = static_cast<QHelpEvent *>(event);
        const int block = blockAt(help->pos());
        QToolTip::showText(help->globalPos(), block >= 0 && m_text ? m_text(block) : QString(), this);
        return true;
    }
    return QWidget::event(event);
}

void BlockMap::setHovered(int square)
{
    if (m_hovered == square)
        return;
    m_hovered = square;
    update();
    Q_EMIT hovered(square < 0 ? -1 : square * m_perSquare);
}

void BlockMap::mouseMoveEvent(QMouseEvent *event)
{
    const int block = blockAt(event->position().toPoint());
    m_walking = false;
    setHovered(block < 0 ? -1 : block / m_perSquare);
}

void BlockMap::leaveEvent(QEvent *)
{
    setHovered(m_walking ? m_current : -1);
}

void BlockMap::mouseReleaseEvent(QMouseEvent *event)
{
    if (event->button() != Qt::LeftButton)
        return;
    if (const int block = blockAt(event->position().toPoint()); block >= 0)
        Q_EMIT clicked(block);
}

void BlockMap::focusInEvent(QFocusEvent *event)
{
    if (m_current < 0 && squares() > 0)
        m_current = 0;
    QWidget::focusInEvent(event);
    // a window that was opened or came to the front is no reason to speak
    if (event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason)
        announce(m_current);
}

void BlockMap::focusOutEvent(QFocusEvent *event)
{
    QWidget::focusOutEvent(event);
    m_walking = false;
    setHovered(-1);
    update();
}

void BlockMap::announce(int square)
{
    if (square < 0)
        return;
    m_walking = true;
    if (m_text) {
        setAccessibleDescription(m_text(square * m_perSquare));
        QAccessibleEvent announcement(this, QAccessible::DescriptionChanged);
        QAccessible::updateAccessibility(&announcement);
    }
    setHovered(square);
    update();
}

void BlockMap::keyPressEvent(QKeyEvent *event)
{
    int target = m_current;
    switch (event->key()) {
    case Qt::Key_Left:
        --target;
        break;
    case Qt::Key_Right:
        ++target;
        break;
    case Qt::Key_Up:
        target -= m_columns;
        break;
    case Qt::Key_Down:
        target += m_columns;
        break;
    case Qt::Key_Home:
        target = 0;
        break;
    case Qt::Key_End:
        target = squares() - 1;
        break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
        if (m_current >= 0)
            Q_EMIT clicked(m_current * m_perSquare);
        return;
    default:
        QWidget::keyPressEvent(event);
        return;
    }
    if (target < 0 || target >= squares())
        return;
    m_current = target;
    announce(target);
}

} // namespace tokenloupe
