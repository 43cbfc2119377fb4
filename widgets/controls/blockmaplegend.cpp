// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/blockmaplegend.h"

#include "widgets/theme/theme.h"

#include <QFontMetrics>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

namespace tokenloupe {

namespace {

int squareSide()
{
    return Theme::instance().scaled(12);
}

int rowHeight(const QFontMetrics &metrics)
{
    return std::max(metrics.height(), squareSide() + 4) + 1;
}

} // namespace

BlockMapLegend::BlockMapLegend(QWidget *parent)
    : QWidget(parent)
{
    setFont(Theme::instance().font(TextRole::Small));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    setAccessibleName(tr("Marks of the blocks"));
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void BlockMapLegend::setMarks(std::vector<BlockMark> marks)
{
    if (marks == m_marks)
        return;
    m_marks = std::move(marks);
    QStringList names;
    for (const BlockMark mark : m_marks)
        names << nameOf(mark);
    setAccessibleDescription(names.join(QStringLiteral(", ")));
    updateGeometry();
    update();
}

QString BlockMapLegend::nameOf(BlockMark mark)
{
    switch (mark) {
    case BlockMark::Active:
        return tr("in use");
    case BlockMark::Own:
        return tr("this sequence");
    case BlockMark::Other:
        return tr("others'");
    case BlockMark::PrefixHit:
        return tr("prefix hit");
    case BlockMark::Shared:
        return tr("shared");
    case BlockMark::Written:
        return tr("just written");
    case BlockMark::Evicted:
        return tr("just evicted");
    case BlockMark::Cached:
        return tr("kept for later");
    case BlockMark::Free:
        return tr("free");
    }
    return {};
}

QString BlockMapLegend::explanationOf(BlockMark mark)
{
    switch (mark) {
    case BlockMark::Active:
        return tr("In the table of an open sequence. Filled from the bottom as tokens come in.");
    case BlockMark::Own:
        return tr("Outlined: in the table of the sequence that is looked at.");
    case BlockMark::Other:
        return tr("Paler: only other sequences use it.");
    case BlockMark::PrefixHit:
        return tr("Found ready by the prefix index instead of being computed.");
    case BlockMark::Shared:
        return tr("Several sequences read the same block; the number says how many.");
    case BlockMark::Written:
        return tr("The newest forward pass wrote into it.");
    case BlockMark::Evicted:
        return tr("Gave its content up for another a moment ago.");
    case BlockMark::Cached:
        return tr("No open sequence uses it; kept because the same tokens may come again.");
    case BlockMark::Free:
        return tr("Nobody's.");
    }
    return {};
}

int BlockMapLegend::entryWidth(BlockMark mark) const
{
    return squareSide() + Theme::instance().scaled(6) + fontMetrics().horizontalAdvance(nameOf(mark));
}

std::vector<QRect> BlockMapLegend::places(int width) const
{
    std::vector<QRect> result;
    const int gap = Theme::instance().scaled(10);
    const int row = rowHeight(fontMetrics());
    int x = 2;
    int y = 0;
    for (const BlockMark mark : m_marks) {
        const int entry = entryWidth(mark);
        if (x > 2 && x + entry > width) {
            x = 2;
            y += row;
        }
        result.push_back(QRect(x, y, entry, row));
        x += entry + gap;
    }
    return result;
}

int BlockMapLegend::heightForWidth(int width) const
{
    const std::vector<QRect> rects = places(width);
    return rects.empty() ? 0 : rects.back().bottom() + 1;
}

QSize BlockMapLegend::sizeHint() const
{
    const int width = Theme::instance().scaled(296);
    return QSize(width, heightForWidth(width));
}

QSize BlockMapLegend::minimumSizeHint() const
{
    return QSize(Theme::instance().scaled(120), m_marks.empty() ? 0 : rowHeight(fontMetrics()));
}

bool BlockMapLegend::event(QEvent *event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto *help = static_cast<QHelpEvent *>(event);
        const std::vector<QRect> rects = places(width());
        QString text;
        for (std::size_t i = 0; i < rects.size(); ++i)
            if (rects[i].contains(help->pos()))
                text = explanationOf(m_marks[i]);
        QToolTip::showText(help->globalPos(), text, this);
        return true;
    }
    return QWidget::event(event);
}

void BlockMapLegend::paintEvent(QPaintEvent *)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const std::vector<QRect> rects = places(width());
    for (std::size_t i = 0; i < rects.size(); ++i) {
        const QRect &rect = rects[i];
        const int side = squareSide();
        paintBlock(painter, QRectF(rect.left(), rect.center().y() - side / 2, side, side),
                   sampleOf(m_marks[i]), 4);
        painter.setFont(font());
        painter.setPen(Theme::instance().colors().muted);
        painter.drawText(rect.adjusted(side + Theme::instance().scaled(6), 0, 4, 0),
                         Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, nameOf(m_marks[i]));
    }
}

} // namespace tokenloupe
