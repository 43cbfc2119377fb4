// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/flowchips.h"

#include "widgets/theme/appstyle.h"
#include "widgets/theme/theme.h"

#include <QElapsedTimer>
#include <QPainter>
#include <QResizeEvent>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

int gap()
{
    return Theme::instance().scaled(4);
}

} // namespace

QString ChipProvider::copyText(int first, int last) const
{
    QString text;
    for (int i = first; i <= last; ++i)
        text += (i > first ? QStringLiteral(" ") : QString()) + chip(i).label.text;
    return text;
}

FlowChips::FlowChips(QWidget *parent)
    : QAbstractScrollArea(parent)
{
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Tokens"));
    viewport()->setMouseTracking(true);
    viewport()->setAutoFillBackground(false);
    m_idle.setInterval(0);
    m_idle.setSingleShot(true);
    connect(&m_idle, &QTimer::timeout, this, &FlowChips::layOutSlice);
    connect(&Theme::instance(), &Theme::changed, viewport(), qOverload<>(&QWidget::update));
}

void FlowChips::setProvider(const ChipProvider *provider)
{
    m_provider = provider;
    itemsReset();
}

void FlowChips::itemsReset()
{
    m_current = m_anchor = m_pressed = -1;
    setHovered(-1);
    m_widths.clear();
    restartLayout();
    verticalScrollBar()->setValue(0);
}

void FlowChips::itemsAppended()
{
    layOut(-1, verticalScrollBar()->value() + viewport()->height());
    updateScrollBar();
    viewport()->update();
}

void FlowChips::itemsRepaint()
{
    viewport()->update();
}

QSize FlowChips::sizeHint() const
{
    return QSize(Theme::instance().scaled(240), Theme::instance().scaled(96));
}

// Places what is known again: the width changed, the chips did not.
void FlowChips::restartLayout()
{
    m_rows.clear();
    m_laidOut = 0;
    m_rowWidth = 0;
    if (itemCount() > 0) {
        m_chipHeight = static_cast<int>(std::ceil(m_provider->chip(0).size().height()));
        m_rowHeight = m_chipHeight + gap();
    }
    layOut(m_current, verticalScrollBar()->value() + viewport()->height());
    updateScrollBar();
    viewport()->update();
}

void FlowChips::layOut(int untilItem, int untilY)
{
    const int count = itemCount();
    const int room = viewport()->width() - 4; // two pixels at each side for the outline of a selected chip
    while (m_laidOut < count && (m_laidOut <= untilItem || rowCount() * m_rowHeight <= untilY)) {
        if (static_cast<int>(m_widths.size()) <= m_laidOut)
            m_widths.push_back(static_cast<float>(m_provider->chip(m_laidOut).size().width()));
        const int width = static_cast<int>(std::ceil(m_widths[static_cast<std::size_t>(m_laidOut)]));
        if (m_rows.empty() || m_rowWidth + gap() + width > room) {
            m_rows.push_back({m_laidOut});
            m_rowWidth = width;
        } else {
            m_rowWidth += gap() + width;
        }
        ++m_laidOut;
    }
    if (m_laidOut < count && !m_idle.isActive())
        m_idle.start();
}

void FlowChips::layOutSlice()
{
    QElapsedTimer timer;
    timer.start();
    while (m_laidOut < itemCount() && timer.elapsed() < 4)
        layOut(m_laidOut + 256, 0);
    updateScrollBar();
}

void FlowChips::updateScrollBar()
{
    // rows that are still to come are estimated from those that are known
    double rows = rowCount();
    if (m_laidOut > 0)
        rows *= static_cast<double>(itemCount()) / m_laidOut;
    const int height = static_cast<int>(std::ceil(rows)) * m_rowHeight + 4;
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(std::max(1, m_rowHeight));
    verticalScrollBar()->setRange(0, std::max(0, height - viewport()->height()));
}

int FlowChips::rowOf(int index) const
{
    const auto after = std::upper_bound(m_rows.begin(), m_rows.end(), index,
                                        [](int value, const Row &row) { return value < row.first; });
    return static_cast<int>(after - m_rows.begin()) - 1;
}

QRect FlowChips::itemRect(int index)
{
    if (index < 0 || index >= itemCount())
        return {};
    layOut(index, 0);
    const int row = rowOf(index);
    int x = 2;
    for (int i = m_rows[static_cast<std::size_t>(row)].first; i < index; ++i)
        x += static_cast<int>(std::ceil(m_widths[static_cast<std::size_t>(i)])) + gap();
    return QRect(x, 2 + row * m_rowHeight - verticalScrollBar()->value(),
                 static_cast<int>(std::ceil(m_widths[static_cast<std::size_t>(index)])), m_chipHeight);
}

int FlowChips::itemAt(const QPoint &pos) const
{
    if (m_rowHeight <= 0)
        return -1;
    const int y = pos.y() + verticalScrollBar()->value() - 2;
    const int row = y / m_rowHeight;
    if (y < 0 || row >= rowCount() || y % m_rowHeight >= m_chipHeight)
        return -1;
    const int end = row + 1 < rowCount() ? m_rows[static_cast<std::size_t>(row) + 1].first : m_laidOut;
    int x = 2;
    for (int i = m_rows[static_cast<std::size_t>(row)].first; i < end; ++i) {
        const int width = static_cast<int>(std::ceil(m_widths[static_cast<std::size_t>(i)]));
        if (pos.x() >= x && pos.x() < x + width)
            return i;
        x += width + gap();
    }
    return -1;
}

void FlowChips::setCurrent(int index)
{
    index = std::clamp(index, -1, itemCount() - 1);
    m_current = m_anchor = index;
    if (index >= 0) {
        const QRect rect = itemRect(index);
        updateScrollBar();
        QScrollBar *bar = verticalScrollBar();
        if (rect.top() < 0)
            bar->setValue(bar->value() + rect.top() - 2);
        else if (rect.bottom() > viewport()->height() - 3)
            bar->setValue(bar->value() + rect.bottom() - viewport()->height() + 3);
    }
    viewport()->update();
}

QString FlowChips::selectedText() const
{
    if (m_current < 0 || m_anchor < 0 || !m_provider)
        return {};
    return m_provider->copyText(std::min(m_current, m_anchor), std::max(m_current, m_anchor));
}

void FlowChips::paintEvent(QPaintEvent *event)
{
    QPainter painter(viewport());
    if (m_rowHeight <= 0 || itemCount() == 0)
        return;
    const int offset = verticalScrollBar()->value();
    layOut(-1, offset + event->rect().bottom());
    const int firstRow = std::max(0, (offset + event->rect().top() - 2) / m_rowHeight);
    const int lastRow = std::min(rowCount() - 1, (offset + event->rect().bottom()) / m_rowHeight);
    const int from = std::min(m_current, m_anchor);
    const int to = std::max(m_current, m_anchor);
    const ThemeColors &colors = Theme::instance().colors();
    for (int row = firstRow; row <= lastRow; ++row) {
        const int end = row + 1 < rowCount() ? m_rows[static_cast<std::size_t>(row) + 1].first : m_laidOut;
        int x = 2;
        const int y = 2 + row * m_rowHeight - offset;
        for (int i = m_rows[static_cast<std::size_t>(row)].first; i < end; ++i) {
            const int width = static_cast<int>(std::ceil(m_widths[static_cast<std::size_t>(i)]));
            TokenChip chip = m_provider->chip(i);
            const bool inRange = from >= 0 && from != to && i >= from && i <= to;
            if (inRange)
                painter.fillRect(QRect(x - gap() / 2, y - 2, width + gap(), m_rowHeight),
                                 blended(colors.panel, colors.accent, 0.3));
            if (i == m_current && hasFocus())
                chip.selected = true;
            chip.paint(painter, QPointF(x, y));
            if (i == m_hovered && !chip.selected)
                drawRounded(painter, QRectF(x, y, width, m_chipHeight), AppStyle::chipRadius, Qt::transparent,
                            colors.muted);
            x += width + gap();
        }
    }
}

void FlowChips::resizeEvent(QResizeEvent *event)
{
    if (event->oldSize().width() != event->size().width())
        restartLayout();
    else
        itemsAppended();
}

void FlowChips::scrollContentsBy(int, int)
{
    layOut(-1, verticalScrollBar()->value() + viewport()->height());
    viewport()->update();
}

} // namespace tokenloupe
