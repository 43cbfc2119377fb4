// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/plotannotations.h"

#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr double labelGap = 3.0;

QPen penOf(const PlotLine &line)
{
    QPen pen(line.color, 1.0);
    if (line.look == LineLook::Dashed)
        pen.setDashPattern({4.0, 3.0});
    return pen;
}

} // namespace

PlotAnnotations::PlotAnnotations(QCustomPlot *chart)
    : QCPAbstractItem(chart)
{
    setClipToAxisRect(false);
    setSelectable(false);
}

QPointF PlotAnnotations::pixel(double x, double y) const
{
    return QPointF(mParentPlot->xAxis->coordToPixel(x), mParentPlot->yAxis->coordToPixel(y));
}

void PlotAnnotations::draw(QCPPainter *painter)
{
    m_placed.clear();
    painter->setFont(mParentPlot->xAxis->tickLabelFont());
    collectData();
    drawLines(painter);
    drawMarks(painter);
    drawUnits(painter);
}

// A few hundred points that the graphs pass, so that labels keep off them.
void PlotAnnotations::collectData()
{
    m_data.clear();
    const QRectF area = mParentPlot->axisRect()->rect();
    for (int g = 0; g < mParentPlot->graphCount(); ++g) {
        const QCPGraph *graph = mParentPlot->graph(g);
        const auto data = graph->data();
        if (!graph->visible() || data->isEmpty())
            continue;
        for (double x = area.left(); x <= area.right(); x += 4.0) {
            const double key = mParentPlot->xAxis->pixelToCoord(x);
            auto it = data->findBegin(key, true);
            if (it == data->constEnd())
                continue;
            double y = it->value;
            if (const auto next = it + 1; graph->lineStyle() == QCPGraph::lsLine &&
                                          next != data->constEnd() && next->key > it->key && key > it->key)
                y += (next->value - it->value) * (key - it->key) / (next->key - it->key);
            m_data.push_back(QPointF(x, mParentPlot->yAxis->coordToPixel(y)));
        }
    }
}

double PlotAnnotations::costOf(const QRectF &rect, const PlotLine *own) const
{
    double cost = 0.0;
    for (const PlotLine &line : lines) {
        if (&line == own)
            continue;
        const bool horizontal = line.direction == LineDirection::Horizontal;
        const double at = horizontal ? mParentPlot->yAxis->coordToPixel(line.value)
                                     : mParentPlot->xAxis->coordToPixel(line.value);
        if (horizontal ? at > rect.top() && at < rect.bottom() : at > rect.left() && at < rect.right())
            cost += 4.0;
    }
    for (const QPointF &point : m_data)
        if (rect.contains(point))
            cost += 0.5;
    return cost;
}

void PlotAnnotations::place(QCPPainter *painter, const std::vector<QRectF> &places, const QString &text,
                            const QColor &color, const PlotLine *own)
{
    if (text.isEmpty())
        return;
    const QRectF area = mParentPlot->axisRect()->rect();
    const QRectF *best = nullptr;
    double bestCost = 1e9;
    double preference = 0.0;
    for (const QRectF &rect : places) {
        preference += 0.75; // earlier places are liked better
        if (!area.adjusted(-1, -1, 1, 1).contains(rect))
            continue;
        if (std::any_of(m_placed.begin(), m_placed.end(),
                        [&](const QRectF &other) { return other.intersects(rect); }))
            continue;
        const double cost = preference + costOf(rect, own);
        if (cost < bestCost) {
            bestCost = cost;
            best = &rect;
        }
    }
    if (!best)
        return;
    m_placed.push_back(*best);
    painter->fillRect(best->adjusted(-1, 1, 1, -1), ground);
    painter->setPen(color);
    painter->drawText(*best, Qt::AlignCenter | Qt::TextDontClip, text);
}

void PlotAnnotations::drawLines(QCPPainter *painter)
{
    const QRectF area = mParentPlot->axisRect()->rect();
    painter->save();
    painter->setAntialiasing(false);
    const auto position = [this](const PlotLine &line) {
        return line.direction == LineDirection::Horizontal ? mParentPlot->yAxis->coordToPixel(line.value)
                                                           : mParentPlot->xAxis->coordToPixel(line.value);
    };
    const auto inside = [&area](const PlotLine &line, double at) {
        return line.direction == LineDirection::Horizontal ? at >= area.top() - 1 && at <= area.bottom() + 1
                                                           : at >= area.left() - 1 && at <= area.right() + 1;
    };
    for (const PlotLine &line : lines) {
        const double at = position(line);
        if (!inside(line, at))
            continue;
        painter->setPen(penOf(line));
        if (line.direction == LineDirection::Horizontal)
            painter->drawLine(QPointF(area.left(), at), QPointF(area.right(), at));
        else
            painter->drawLine(QPointF(at, area.top()), QPointF(at, area.bottom()));
    }
    if (std::isfinite(cursorX)) {
        const double at = mParentPlot->xAxis->coordToPixel(cursorX);
        painter->setPen(QPen(unitColor, 1.0, Qt::DotLine));
        if (at >= area.left() && at <= area.right())
            painter->drawLine(QPointF(at, area.top()), QPointF(at, area.bottom()));
    }
    painter->restore();

    const QFontMetricsF metrics(painter->font());
    for (const PlotLine &line : lines) {
        const double at = position(line);
        if (!inside(line, at))
            continue;
        const QSizeF size(metrics.horizontalAdvance(line.label) + 4, metrics.height());
        std::vector<QRectF> places;
        if (line.direction == LineDirection::Horizontal) {
            const double right = area.right() - size.width() - 2;
            for (const double x :
                 {right, area.left() + (right - area.left()) * 0.66, area.center().x() - size.width() / 2,
                  area.left() + (right - area.left()) * 0.33, area.left() + 2}) {
                places.push_back(QRectF(QPointF(x, at - size.height() - 1), size)); // above
                places.push_back(QRectF(QPointF(x, at + 2), size));                 // below
            }
            place(painter, places, line.label, line.textColor, &line);
        } else {
            const QSizeF second(metrics.horizontalAdvance(line.secondLabel) + 4, metrics.height());
            std::vector<QRectF> secondPlaces;
            for (int row = 0; row < 6; ++row) {
                const double y = area.top() + row * (metrics.height() + 2);
                const QRectF left(QPointF(at - labelGap - size.width(), y), size);
                const QRectF right(QPointF(at + labelGap, y), size);
                places.push_back(left);
                if (line.secondLabel.isEmpty())
                    places.push_back(right);
                else
                    secondPlaces.push_back(QRectF(QPointF(at + labelGap, y), second));
            }
            place(painter, places, line.label, line.textColor, &line);
            place(painter, secondPlaces, line.secondLabel, line.textColor, &line);
        }
    }
}

void PlotAnnotations::drawMarks(QCPPainter *painter)
{
    const QRectF area = mParentPlot->axisRect()->rect();
    const QFontMetricsF metrics(painter->font());
    for (const PlotMark &mark : marks) {
        const QPointF at = pixel(mark.point.x(), mark.point.y());
        if (!area.adjusted(-2, -2, 2, 2).contains(at))
            continue;
        painter->save();
        painter->setAntialiasing(true);
        painter->setPen(QPen(ground, 1.5));
        painter->setBrush(mark.color);
        painter->drawEllipse(at, 4.5, 4.5);
        painter->restore();
        const QSizeF size(metrics.horizontalAdvance(mark.label) + 4, metrics.height());
        std::vector<QRectF> places;
        for (const double away : {8.0, 20.0, 34.0}) {
            places.push_back(QRectF(at + QPointF(away, -size.height() - away / 2), size));
            places.push_back(QRectF(at + QPointF(away, away / 2), size));
            places.push_back(QRectF(at + QPointF(-away - size.width(), away / 2), size));
            places.push_back(QRectF(at + QPointF(-away - size.width(), -size.height() - away / 2), size));
        }
        place(painter, places, mark.label, mark.textColor, nullptr);
    }
}

void PlotAnnotations::drawUnits(QCPPainter *painter)
{
    const QRectF area = mParentPlot->axisRect()->rect();
    const QFontMetricsF metrics(painter->font());
    painter->setPen(unitColor);
    const double above = area.top() - metrics.height() / 2 - 5;
    const double width = metrics.horizontalAdvance(yUnit);
    // ends where the tick labels end, unless it is longer than the margin
    painter->drawText(QPointF(std::max(1.0, area.left() - 6 - width), above), yUnit);
    // beside the row of tick labels, in the right margin
    painter->drawText(QRectF(area.right() + 4, area.bottom() + 4, mParentPlot->width() - area.right() - 4,
                             metrics.height()),
                      Qt::AlignRight | Qt::AlignTop | Qt::TextDontClip, xUnit);
    double x = area.right();
    for (auto entry = legend.rbegin(); entry != legend.rend(); ++entry) {
        x -= metrics.horizontalAdvance(entry->name);
        painter->setPen(unitColor);
        painter->drawText(QPointF(x, above), entry->name);
        x -= 12;
        painter->fillRect(QRectF(x, above - 8, 8, 8), entry->color);
        x -= 14;
    }
}

} // namespace tokenloupe
