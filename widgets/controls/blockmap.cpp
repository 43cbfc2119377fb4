// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/blockmap.h"

#include "widgets/theme/appstyle.h"
#include "widgets/theme/theme.h"

#include <QAccessible>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <algorithm>

namespace tokenloupe {

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

QSize BlockMap::sizeHint() const
{
    const Theme &theme = Theme::instance();
    return QSize(theme.scaled(320), 2 * theme.scaled(20));
}

QSize BlockMap::minimumSizeHint() const
{
    const Theme &theme = Theme::instance();
    return QSize(theme.scaled(120), theme.scaled(20));
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
    for (m_perSquare = 1;; m_perSquare *= 2) {
        for (m_side = theme.scaled(16); m_side >= theme.scaled(5); --m_side) {
            m_gap = m_side >= theme.scaled(12) ? theme.scaled(4) : m_side >= theme.scaled(8) ? 2 : 1;
            m_columns = std::max(1, (width() + m_gap) / (m_side + m_gap));
            const int rows = (squares() + m_columns - 1) / m_columns;
            if (rows * (m_side + m_gap) - m_gap <= height())
                return;
        }
        if (m_perSquare >= count) {
            m_side = std::max(1, m_side);
            return;
        }
    }
}

QRect BlockMap::squareRect(int index) const
{
    return QRect((index % m_columns) * (m_side + m_gap), (index / m_columns) * (m_side + m_gap), m_side,
                 m_side);
}

QRect BlockMap::blockRect(int block) const
{
    return squareRect(block / m_perSquare);
}

int BlockMap::blockAt(const QPoint &pos) const
{
    const int step = m_side + m_gap;
    if (pos.x() < 0 || pos.y() < 0 || pos.x() % step >= m_side || pos.y() % step >= m_side ||
        pos.x() / step >= m_columns)
        return -1;
    const int index = pos.y() / step * m_columns + pos.x() / step;
    return index < squares() ? index * m_perSquare : -1;
}

Block BlockMap::square(int index) const
{
    const std::size_t first = static_cast<std::size_t>(index) * static_cast<std::size_t>(m_perSquare);
    const std::size_t last = std::min(first + static_cast<std::size_t>(m_perSquare), m_blocks.size());
    Block result = m_blocks[first];
    float fill = 0.0F;
    for (std::size_t i = first; i < last; ++i) {
        fill += m_blocks[i].fill;
        if (m_blocks[i].state == BlockState::Used && result.state == BlockState::Free)
            result.state = BlockState::Used;
    }
    result.fill = fill / static_cast<float>(last - first);
    return result;
}

void BlockMap::paintEvent(QPaintEvent *)
{
    const ThemeColors &c = Theme::instance().colors();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const double radius = std::min(3.0, m_side / 4.0);
    for (int i = 0; i < squares(); ++i) {
        const QRectF rect = squareRect(i);
        const Block block = square(i);
        drawRounded(painter, rect, radius, c.chip, Qt::transparent);
        if (block.state != BlockState::Free && block.fill > 0.0F) {
            const QColor color =
                c.stage(block.state == BlockState::Reused ? StageFamily::MassCut : StageFamily::CountCut);
            QPainterPath shape;
            shape.addRoundedRect(rect, radius, radius);
            painter.save();
            painter.setClipPath(shape);
            const double height = rect.height() * static_cast<double>(std::min(1.0F, block.fill));
            painter.fillRect(QRectF(rect.left(), rect.bottom() - height, rect.width(), height), color);
            painter.restore();
            if (block.state == BlockState::Reused && m_side >= 8) {
                painter.setPen(Qt::NoPen);
                painter.setBrush(c.panel);
                painter.drawEllipse(rect.center(), m_side / 7.0, m_side / 7.0);
            }
        }
        if (i == m_hovered)
            drawRounded(painter, rect, radius, Qt::transparent, c.text);
        if (i == m_current && hasFocus())
            drawFocusRing(painter, rect, radius);
    }
}

void BlockMap::resizeEvent(QResizeEvent *)
{
    arrange();
}

bool BlockMap::event(QEvent *event)
{
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
    setHovered(block < 0 ? -1 : block / m_perSquare);
}

void BlockMap::leaveEvent(QEvent *)
{
    setHovered(-1);
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
    const int block = target * m_perSquare;
    if (m_text) {
        setAccessibleDescription(m_text(block));
        QAccessibleEvent announcement(this, QAccessible::DescriptionChanged);
        QAccessible::updateAccessibility(&announcement);
    }
    setHovered(target);
    update();
}

} // namespace tokenloupe
