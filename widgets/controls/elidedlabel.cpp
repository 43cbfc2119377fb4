// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/controls/elidedlabel.h"

#include "widgets/theme/tabulartext.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <cmath>

namespace tokenloupe {

namespace {

const QString separator = QStringLiteral(" · ");

} // namespace

ElidedLabel::ElidedLabel(QWidget *parent)
    : QLabel(parent)
{
    setTextFormat(Qt::PlainText);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

QString ElidedLabel::shownText() const
{
    const QString all = text();
    const int room = contentsRect().width();
    if (std::ceil(tabularWidth(font(), all)) <= room)
        return all;
    const QStringList parts = all.split(separator);
    for (qsizetype kept = parts.size() - 1; kept > 0; --kept) {
        const QString shorter = QStringList(parts.first(kept)).join(separator);
        if (std::ceil(tabularWidth(font(), shorter)) <= room)
            return shorter;
    }
    qsizetype low = 0;
    qsizetype high = all.size();
    while (low < high) {
        const qsizetype middle = (low + high + 1) / 2;
        if (tabularWidth(font(), all.left(middle) + QChar(0x2026)) <= room)
            low = middle;
        else
            high = middle - 1;
    }
    return low == 0 ? QString() : all.left(low).trimmed() + QChar(0x2026);
}

QSize ElidedLabel::sizeHint() const
{
    const QMargins m = contentsMargins();
    return QSize(static_cast<int>(std::ceil(tabularWidth(font(), text()))) + m.left() + m.right(),
                 fontMetrics().height() + m.top() + m.bottom());
}

QSize ElidedLabel::minimumSizeHint() const
{
    return QSize(0, sizeHint().height());
}

bool ElidedLabel::event(QEvent *event)
{
    if (event->type() == QEvent::ToolTip && toolTip().isEmpty()) {
        const auto *help = static_cast<QHelpEvent *>(event);
        QToolTip::showText(help->globalPos(), shownText() == text() ? QString() : text(), this);
        return true;
    }
    return QLabel::event(event);
}

void ElidedLabel::paintEvent(QPaintEvent *)
{
    QPainter painter(this);
    painter.setFont(font());
    painter.setPen(palette().color(isEnabled() ? QPalette::Normal : QPalette::Disabled, foregroundRole()));
    drawTabular(painter, contentsRect(), alignment(), shownText());
}

} // namespace tokenloupe
