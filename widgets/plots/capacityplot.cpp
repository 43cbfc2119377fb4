// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/capacityplot.h"

#include "widgets/plots/plotannotations.h"
#include "widgets/plots/plotticker.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <qcustomplot.h>

#include <QTextStream>
#include <algorithm>
#include <cmath>

namespace tokenloupe {

CapacityPlot::CapacityPlot(const QString &accessibleName, const QString &xUnit, const QString &yUnit,
                           QWidget *parent)
    : Plot(accessibleName, xUnit, yUnit, parent)
    , m_xUnit(xUnit)
    , m_yUnit(yUnit)
{
    chart()->xAxis->setTicker(QSharedPointer<PlotTicker>::create(TickKind::Whole));
    chart()->yAxis->setTicker(QSharedPointer<PlotTicker>::create(TickKind::Real));
    chart()->addGraph()->setLineStyle(QCPGraph::lsLine);
    finishConstruction();
}

void CapacityPlot::applyColors()
{
    const ThemeColors &c = Theme::instance().colors();
    const QColor color = c.stage(StageFamily::CountCut);
    QPen pen(color, 1.0);
    pen.setDashPattern({4.0, 3.0});
    chart()->graph(0)->setPen(pen);
    chart()->graph(0)->setBrush(blended(c.panel, color, 0.10));
    rebuildAnnotations();
}

void CapacityPlot::setYUnit(const QString &unit)
{
    m_yUnit = unit;
    annotations()->yUnit = unit;
    replotLater();
}

void CapacityPlot::setCurve(std::vector<QPointF> points)
{
    m_points = std::move(points);
    QVector<double> keys, values;
    for (const QPointF &point : m_points) {
        keys << point.x();
        values << point.y();
    }
    // other settings, another curve: nothing of the old one stays
    chart()->graph(0)->setData(keys, values, true);
    dataChanged();
}

void CapacityPlot::setCapacity(double y, const QString &label)
{
    m_capacity = y;
    m_capacityLabel = label;
    rebuildAnnotations();
    dataChanged();
}

void CapacityPlot::setCurrent(const QPointF &point, const QString &label)
{
    m_current = point;
    m_currentLabel = label;
    rebuildAnnotations();
    dataChanged();
}

void CapacityPlot::setCrossing(double x, const QString &label)
{
    m_crossing = x;
    m_crossingLabel = label;
    rebuildAnnotations();
    dataChanged();
}

void CapacityPlot::rebuildAnnotations()
{
    const ThemeColors &c = Theme::instance().colors();
    std::vector<PlotLine> &lines = annotations()->lines;
    std::vector<PlotMark> &marks = annotations()->marks;
    lines.clear();
    marks.clear();
    if (m_capacity > 0.0)
        lines.push_back(
            {m_capacity, LineDirection::Horizontal, LineLook::Solid, c.error, c.error, m_capacityLabel, {}});
    if (m_crossing > 0.0 && m_capacity > 0.0 && m_crossing <= fullX().to)
        marks.push_back({QPointF(m_crossing, m_capacity), c.error, c.text, m_crossingLabel});
    if (!m_currentLabel.isEmpty())
        marks.push_back({m_current, c.accent, c.text, m_currentLabel});
}

PlotRange CapacityPlot::fullX() const
{
    return {0.0, m_points.empty() ? 1.0 : std::max(1.0, m_points.back().x())};
}

PlotRange CapacityPlot::fullY(const PlotRange &visible) const
{
    double top = m_capacity;
    for (const QPointF &point : m_points)
        if (point.x() <= visible.to)
            top = std::max(top, point.y());
    return {0.0, top > 0.0 ? top * 1.12 : 1.0}; // room for the labels above the lines
}

double CapacityPlot::valueOn(double x) const
{
    if (m_points.empty() || x < m_points.front().x() || x > m_points.back().x())
        return std::nan("");
    const auto next = std::lower_bound(m_points.begin(), m_points.end(), x,
                                       [](const QPointF &point, double at) { return point.x() < at; });
    if (next == m_points.begin() || next->x() == x)
        return next->y();
    const QPointF &before = *(next - 1);
    return before.y() + (next->y() - before.y()) * (x - before.x()) / (next->x() - before.x());
}

QString CapacityPlot::readout(double x, double) const
{
    const double at = std::max(1.0, std::round(x));
    const double value = valueOn(at);
    if (std::isnan(value))
        return {};
    QString text = formatCount(static_cast<std::uint64_t>(at)) + QLatin1Char(' ') + m_xUnit +
                   QLatin1Char('\n') + tr("needs %1 %2").arg(formatSignificant(value, 4), m_yUnit);
    if (m_capacity > 0.0)
        text += QLatin1Char('\n') + (value <= m_capacity ? tr("leaves %1 %2") : tr("%1 %2 too much"))
                                        .arg(formatSignificant(std::abs(m_capacity - value), 4), m_yUnit);
    return text;
}

void CapacityPlot::writeCsv(QTextStream &out) const
{
    out << m_xUnit << ",needed_" << m_yUnit << ",capacity_" << m_yUnit << '\n';
    for (const QPointF &point : m_points)
        out << QString::number(point.x(), 'g', 17) << ',' << QString::number(point.y(), 'g', 17) << ','
            << QString::number(m_capacity, 'g', 17) << '\n';
}

} // namespace tokenloupe
