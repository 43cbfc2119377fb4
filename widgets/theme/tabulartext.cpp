// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/theme/tabulartext.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>

namespace tokenloupe {

namespace {

double widestDigit(const QFontMetricsF &metrics)
{
    double widest = 0.0;
    for (char digit = '0'; digit <= '9'; ++digit)
        widest = std::max(widest, metrics.horizontalAdvance(QLatin1Char(digit)));
    return widest;
}

bool isDigit(QChar c)
{
    return c >= QLatin1Char('0') && c <= QLatin1Char('9');
}

// Calls `place(piece, width)` for every digit and for every run of other characters.
template <class Place>
void forEachPiece(const QFontMetricsF &metrics, const QString &text, Place place)
{
    const double cell = widestDigit(metrics);
    qsizetype i = 0;
    while (i < text.size()) {
        if (isDigit(text.at(i))) {
            place(text.mid(i, 1), cell);
            ++i;
            continue;
        }
        qsizetype end = i;
        while (end < text.size() && !isDigit(text.at(end)))
            ++end;
        const QString piece = text.mid(i, end - i);
        place(piece, metrics.horizontalAdvance(piece));
        i = end;
    }
}

} // namespace

double tabularWidth(const QFont &font, const QString &text)
{
    double width = 0.0;
    forEachPiece(QFontMetricsF(font), text, [&](const QString &, double piece) { width += piece; });
    return width;
}

void drawTabular(QPainter &painter, const QRectF &rect, Qt::Alignment alignment, const QString &text)
{
    const QFontMetricsF metrics(painter.font());
    const double width = tabularWidth(painter.font(), text);
    double x = rect.left();
    if (alignment & Qt::AlignRight)
        x = rect.right() - width;
    else if (alignment & Qt::AlignHCenter)
        x = rect.center().x() - width / 2.0;
    double baseline = rect.center().y() + (metrics.ascent() - metrics.descent()) / 2.0;
    if (alignment & Qt::AlignTop)
        baseline = rect.top() + metrics.ascent();
    else if (alignment & Qt::AlignBottom)
        baseline = rect.bottom() - metrics.descent();
    forEachPiece(metrics, text, [&](const QString &piece, double cell) {
        painter.drawText(QPointF(x + (cell - metrics.horizontalAdvance(piece)) / 2.0, baseline), piece);
        x += cell;
    });
}

} // namespace tokenloupe
