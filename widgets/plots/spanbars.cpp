// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/spanbars.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tokenloupe {

namespace {

struct PixelBar
{
    int left, right;
    double low, high; // values
};

} // namespace

SpanBars::SpanBars(QCustomPlot *chart)
    : QCPAbstractItem(chart)
{
    setSelectable(false);
    setClipToAxisRect(true);
}

void SpanBars::draw(QCPPainter *painter)
{
    painter->setAntialiasing(false);
    const QCPAxis *x = mParentPlot->xAxis;
    const QCPAxis *y = mParentPlot->yAxis;
    drawn = 0;
    const auto paint = [&](const PixelBar &bar, const QColor &fill) {
        const int top = qRound(y->coordToPixel(bar.high));
        const int bottom = qRound(y->coordToPixel(bar.low));
        // A value that is there is seen, be it ever so small.
        painter->fillRect(
            QRect(bar.left, std::min(top, bottom - 1), bar.right - bar.left, std::max(1, bottom - top)),
            fill);
        ++drawn;
    };
    std::optional<PixelBar> waiting;
    for (const BarSpan &span : spans) {
        if (span.to < x->range().lower || span.from > x->range().upper)
            continue;
        const int left = qRound(x->coordToPixel(span.from));
        const PixelBar bar{left, std::max(left + 1, qRound(x->coordToPixel(span.to))), span.low, span.high};
        if (waiting && bar.left == waiting->left) {
            waiting->right = std::max(waiting->right, bar.right);
            waiting->low = std::min(waiting->low, bar.low);
            waiting->high = std::max(waiting->high, bar.high);
            continue;
        }
        if (waiting)
            paint(*waiting, selected >= 0 ? quietColor : color);
        waiting = bar;
    }
    if (waiting)
        paint(*waiting, selected >= 0 ? quietColor : color);
    if (selected >= 0 && selected < static_cast<int>(spans.size()))
        drawOutline(painter);
}

void SpanBars::drawOutline(QCPPainter *painter)
{
    const QCPAxis *x = mParentPlot->xAxis;
    const QCPAxis *y = mParentPlot->yAxis;
    const BarSpan &span = spans[static_cast<std::size_t>(selected)];
    const double centre = (x->coordToPixel(span.from) + x->coordToPixel(span.to)) / 2.0;
    const double half = std::max(2.5, (x->coordToPixel(span.to) - x->coordToPixel(span.from)) * 0.7);
    const int top = qRound(y->coordToPixel(span.high));
    const int bottom = qRound(y->coordToPixel(span.low));
    const int left = qRound(x->coordToPixel(span.from));
    painter->fillRect(QRect(left, std::min(top, bottom - 1),
                            std::max(1, qRound(x->coordToPixel(span.to)) - left), std::max(1, bottom - top)),
                      color);
    const QRectF area = mParentPlot->axisRect()->rect();
    painter->setPen(QPen(outline, 1.0));
    painter->setBrush(Qt::NoBrush);
    painter->drawRect(QRect(qRound(centre - half), static_cast<int>(area.top()), qRound(2.0 * half) - 1,
                            static_cast<int>(area.height())));
}

} // namespace tokenloupe
