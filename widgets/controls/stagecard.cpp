// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/stagecard.h"

#include "widgets/controls/toggleswitch.h"
#include "widgets/theme/appstyle.h"
#include "widgets/theme/tabulartext.h"
#include "widgets/theme/theme.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>

namespace tokenloupe {

namespace {

int scaled(int px)
{
    return Theme::instance().scaled(px);
}

void paintHandle(QPainter &painter, const QRectF &rect, const QColor &color)
{
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    const double step = scaled(4);
    for (int row = -1; row <= 1; ++row)
        for (int column = 0; column < 2; ++column)
            painter.drawEllipse(rect.center() + QPointF((column - 0.5) * step, row * step), 1.1, 1.1);
}

} // namespace

QSize StageCard::sizeHint()
{
    return QSize(scaled(240), scaled(44));
}

QRect StageCard::handleRect(const QRect &card)
{
    return QRect(card.left() + scaled(6), card.top(), scaled(16), card.height());
}

QRect StageCard::toggleRect(const QRect &card)
{
    const int width = toggleSize().width() + scaled(8);
    return QRect(card.right() - width - scaled(6), card.top(), width, card.height());
}

void StageCard::paint(QPainter &painter, const QRect &card, QStyle::State state) const
{
    const Theme &theme = Theme::instance();
    const ThemeColors &c = theme.colors();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const bool selected = state & QStyle::State_Selected;
    if (selected)
        painter.fillRect(card, c.softAccent);
    else if (state & QStyle::State_MouseOver)
        painter.fillRect(card, blended(c.panel, c.grid, 0.6));
    painter.fillRect(QRect(card.left(), card.bottom(), card.width(), 1), c.grid);
    if (movable)
        paintHandle(painter, handleRect(card), active ? c.muted : c.faint);

    const double bar = scaled(4);
    const double left = card.left() + scaled(28);
    drawRounded(painter, QRectF(left, card.top() + scaled(7), bar, card.height() - scaled(14)), bar / 2,
                active ? c.stage(family) : blended(c.panel, c.stage(family), 0.35), Qt::transparent);

    const QFont small = theme.font(TextRole::Small);
    QFont strong = theme.font(TextRole::Body);
    strong.setWeight(QFont::DemiBold);
    const QColor muted = selected ? c.mutedOnTint : c.muted;
    const double numbersRight =
        toggle == Switch::None ? card.right() - scaled(12) : toggleRect(card).left() - scaled(4);
    const double numbersWidth =
        std::max(tabularWidth(theme.font(TextRole::Body), survivors), tabularWidth(small, mass));
    const double textLeft = left + bar + scaled(8);
    const double textWidth = numbersRight - numbersWidth - scaled(8) - textLeft;
    const double half = card.height() / 2.0;
    const QRectF upper(textLeft, card.top() + scaled(5), textWidth, half - scaled(4));
    const QRectF lower(textLeft, upper.bottom(), textWidth, half - scaled(5));

    const auto line = [&](const QFont &font, const QColor &color, const QRectF &rect, const QString &text) {
        painter.setFont(font);
        painter.setPen(color);
        painter.drawText(rect, Qt::AlignLeft | Qt::AlignVCenter,
                         QFontMetricsF(font).elidedText(text, Qt::ElideRight, rect.width()));
    };
    line(strong, active ? c.text : muted, upper, title);
    line(small, muted, lower, subtitle);

    const bool twoLines = !mass.isEmpty();
    const QRectF numbers(numbersRight - numbersWidth, upper.top(), numbersWidth, upper.height());
    painter.setFont(theme.font(TextRole::Body));
    painter.setPen(active ? c.text : muted);
    drawTabular(painter, twoLines ? numbers : QRectF(numbers.left(), card.top(), numbersWidth, card.height()),
                Qt::AlignRight | Qt::AlignVCenter, survivors);
    if (twoLines) {
        painter.setFont(small);
        painter.setPen(muted);
        drawTabular(painter, QRectF(numbers.left(), lower.top(), numbersWidth, lower.height()),
                    Qt::AlignRight | Qt::AlignVCenter, mass);
    }
    if (toggle != Switch::None) {
        QStyle::State flags = state & (QStyle::State_Enabled | QStyle::State_HasFocus);
        paintToggle(painter, toggleRect(card), toggle == Switch::On ? ToggleState::On : ToggleState::Off,
                    flags);
    }
    painter.restore();
}

} // namespace tokenloupe
