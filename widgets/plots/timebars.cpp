// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/timebars.h"

#include "widgets/plots/stackedtimeplot.h"

#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr double barShare = 0.72;    // of a token's width
constexpr double fewestPixels = 2.0; // a token; below, several share a column

} // namespace

TimeBars::TimeBars(StackedTimePlot &plot, QCustomPlot *chart)
    : QCPAbstractItem(chart)
    , m_plot(plot)
{
    setSelectable(false);
    setClipToAxisRect(true);
}

void TimeBars::drawBar(QCPPainter *painter, int left, int right, const TimeSplit &split,
                       const std::array<QColor, 3> &palette)
{
    const std::array parts{split.forward, split.sampling, split.rest};
    double sum = 0.0;
    int bottom = qRound(mParentPlot->yAxis->coordToPixel(0.0));
    for (std::size_t i = 0; i < parts.size(); ++i) {
        sum += parts[i];
        const int top = qRound(mParentPlot->yAxis->coordToPixel(sum));
        if (top < bottom)
            painter->fillRect(QRect(left, top, std::max(1, right - left), bottom - top), palette[i]);
        bottom = std::min(bottom, top);
    }
}

void TimeBars::drawPrefill(QCPPainter *painter)
{
    const QCPAxis *x = mParentPlot->xAxis;
    const double ms = m_plot.m_prefillMs;
    const int left = qRound(x->coordToPixel(-barShare / 2.0));
    const int right = std::max(left + 2, qRound(x->coordToPixel(barShare / 2.0)));
    const double limit = mParentPlot->yAxis->range().upper;
    const int top = qRound(mParentPlot->yAxis->coordToPixel(std::min(ms, limit)));
    const int bottom = qRound(mParentPlot->yAxis->coordToPixel(0.0));
    painter->fillRect(QRect(left, top, right - left, bottom - top), prefill);
    if (ms > limit) // cut off: a gap in the bar says so, the number is in the margin above
        painter->fillRect(QRect(left, top + 6, right - left, 2), ground);
}

void TimeBars::draw(QCPPainter *painter)
{
    painter->setAntialiasing(false);
    const QCPAxis *x = mParentPlot->xAxis;
    const int count = m_plot.tokenCount();
    columns = 0;
    if (m_plot.m_prefillMs > 0.0)
        drawPrefill(painter);
    const int first = std::clamp(static_cast<int>(std::floor(x->range().lower - 0.5)), 1, count + 1);
    const int last =
        std::clamp(static_cast<int>(std::ceil(x->range().upper + 0.5)), 0, count); // tokens count from 1
    const double perToken = x->coordToPixel(1.0) - x->coordToPixel(0.0);
    const bool anySelected = m_plot.m_selected >= 0;
    const auto paletteOf = [&](int token) -> const std::array<QColor, 3> & {
        return anySelected && token != m_plot.m_selected ? quietColors : colors;
    };
    if (perToken >= fewestPixels) {
        for (int i = first; i <= last; ++i) {
            const int left = qRound(x->coordToPixel(i - barShare / 2.0));
            const int right = qRound(x->coordToPixel(i + barShare / 2.0));
            drawBar(painter, left, right, m_plot.m_tokens[static_cast<std::size_t>(i) - 1], paletteOf(i - 1));
            ++columns;
        }
    } else {
        const int from = qRound(x->coordToPixel(first - 0.5));
        const int to = qRound(x->coordToPixel(last + 0.5));
        for (int pixel = from; pixel < to; ++pixel) {
            const int token = m_plot.tokenAt(x->pixelToCoord(pixel));
            if (token < 0)
                continue;
            drawBar(painter, pixel, pixel + 1, m_plot.m_tokens[static_cast<std::size_t>(token)],
                    paletteOf(token));
            ++columns;
        }
    }
    if (anySelected && m_plot.m_selected < count) {
        const double centre = m_plot.m_selected + 1;
        const double half =
            std::max(0.5, 2.5 / perToken); // stays visible when tokens are thinner than a pixel
        const QRectF area = mParentPlot->axisRect()->rect();
        painter->setPen(QPen(outline, 1.0));
        painter->setBrush(Qt::NoBrush);
        const int left = qRound(x->coordToPixel(centre - half));
        const int right = qRound(x->coordToPixel(centre + half));
        painter->drawRect(
            QRect(left, static_cast<int>(area.top()), right - left - 1, static_cast<int>(area.height())));
    }
}

} // namespace tokenloupe
