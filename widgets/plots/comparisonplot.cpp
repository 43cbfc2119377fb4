// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/comparisonplot.h"

#include "widgets/plots/plotannotations.h"
#include "widgets/plots/plotticker.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <qcustomplot.h>

#include <QTextStream>
#include <algorithm>
#include <cmath>

namespace tokenloupe {

ComparisonPlot::ComparisonPlot(const QString &accessibleName, const QString &yUnit, QWidget *parent)
    : Plot(accessibleName, tr("steps"), yUnit, parent)
    , m_yUnit(yUnit)
{
    chart()->xAxis->setTicker(QSharedPointer<PlotTicker>::create(TickKind::Counted));
    chart()->yAxis->setTicker(QSharedPointer<PlotTicker>::create(TickKind::Real));
    connect(this, &Plot::clicked, this, [this](double x, double) {
        const int step = static_cast<int>(std::lround(x)) - 1;
        if (step >= 0 && step < steps())
            Q_EMIT stepClicked(step);
    });
    finishConstruction();
}

void ComparisonPlot::setSeries(std::vector<ComparedSeries> series)
{
    if (series == m_series)
        return;
    m_series = std::move(series);
    while (chart()->graphCount() > static_cast<int>(m_series.size()))
        chart()->removeGraph(chart()->graphCount() - 1);
    while (chart()->graphCount() < static_cast<int>(m_series.size()))
        chart()->addGraph();
    for (std::size_t i = 0; i < m_series.size(); ++i) {
        QVector<double> keys, values;
        for (std::size_t step = 0; step < m_series[i].values.size(); ++step) {
            keys << static_cast<double>(step + 1);
            values << m_series[i].values[step];
        }
        chart()->graph(static_cast<int>(i))->setData(keys, values, true);
    }
    applyColors();
    dataChanged();
}

void ComparisonPlot::setUnit(const QString &yUnit)
{
    m_yUnit = yUnit;
    annotations()->yUnit = yUnit;
    replotLater();
}

void ComparisonPlot::setSelected(int step)
{
    if (step == m_selected)
        return;
    m_selected = step;
    rebuildLabels();
    replotLater();
}

int ComparisonPlot::pointCount(int series) const
{
    return series < chart()->graphCount() ? chart()->graph(series)->dataCount() : 0;
}

int ComparisonPlot::steps() const
{
    std::size_t most = 0;
    for (const ComparedSeries &series : m_series)
        most = std::max(most, series.values.size());
    return static_cast<int>(most);
}

void ComparisonPlot::applyColors()
{
    for (std::size_t i = 0; i < m_series.size(); ++i) {
        QCPGraph *graph = chart()->graph(static_cast<int>(i));
        graph->setPen(QPen(Theme::instance().colors().stage(m_series[i].color), 1.0));
        // a single point is no line: it is drawn as a dot
        graph->setScatterStyle(m_series[i].values.size() == 1 ? QCPScatterStyle(QCPScatterStyle::ssDisc, 5.0)
                                                              : QCPScatterStyle());
    }
    rebuildLabels();
}

void ComparisonPlot::rebuildLabels()
{
    const ThemeColors &c = Theme::instance().colors();
    annotations()->marks.clear();
    annotations()->lines.clear();
    for (const ComparedSeries &series : m_series)
        if (!series.values.empty())
            annotations()->marks.push_back(
                {QPointF(static_cast<double>(series.values.size()), series.values.back()),
                 c.stage(series.color), c.stageText(series.color), series.name});
    if (m_selected >= 0 && m_selected < steps())
        annotations()->lines.push_back(
            {m_selected + 1.0, LineDirection::Vertical, LineLook::Solid, c.accent, c.accent, {}, {}});
}

PlotRange ComparisonPlot::fullX() const
{
    return {0.5, std::max(8.0, steps() * 1.06) + 0.5};
}

PlotRange ComparisonPlot::fullY(const PlotRange &visible) const
{
    double top = 0.0;
    for (const ComparedSeries &series : m_series)
        for (std::size_t step = 0; step < series.values.size(); ++step)
            if (static_cast<double>(step + 1) >= visible.from && static_cast<double>(step + 1) <= visible.to)
                top = std::max(top, series.values[step]);
    return {0.0, top > 0.0 ? top * 1.2 : 1.0};
}

QString ComparisonPlot::readout(double x, double) const
{
    const int step = static_cast<int>(std::lround(x)) - 1;
    if (step < 0 || step >= steps())
        return {};
    QString text = tr("step %1").arg(formatCount(static_cast<std::uint64_t>(step) + 1));
    for (const ComparedSeries &series : m_series)
        if (step < static_cast<int>(series.values.size()))
            text += QLatin1Char('\n') +
                    tr("%1: %2 %3")
                        .arg(series.name, formatSignificant(series.values[std::size_t(step)], 3), m_yUnit);
    return text;
}

void ComparisonPlot::writeCsv(QTextStream &out) const
{
    out << "step";
    for (const ComparedSeries &series : m_series)
        out << ",\"" << series.name << " (" << m_yUnit << ")\"";
    out << '\n';
    for (int step = 0; step < steps(); ++step) {
        out << step + 1;
        for (const ComparedSeries &series : m_series) {
            out << ',';
            if (step < static_cast<int>(series.values.size()))
                out << QString::number(series.values[std::size_t(step)], 'g', 17);
        }
        out << '\n';
    }
}

} // namespace tokenloupe
