// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/rankplot.h"

#include "widgets/plots/plotannotations.h"
#include "widgets/plots/plotticker.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <qcustomplot.h>

#include <QTextStream>
#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr int pointsPerDecade = 400; // more than a decade has pixels on any screen that we lay out for
constexpr double lowestPercent = 1e-12;

double percentOf(float p)
{
    return std::max(static_cast<double>(p) * 100.0, lowestPercent);
}

} // namespace

RankPlot::RankPlot(const QString &accessibleName, QWidget *parent)
    : Plot(accessibleName, tr("rank"), tr("%"), parent)
{
    for (QCPAxis *axis : {chart()->xAxis, chart()->yAxis}) {
        axis->setScaleType(QCPAxis::stLogarithmic);
        axis->setTicker(QSharedPointer<PlotLogTicker>::create());
    }
    chart()->addGraph();
    finishConstruction();
}

void RankPlot::applyColors()
{
    const ThemeColors &c = Theme::instance().colors();
    const QColor color = c.stage(StageFamily::Raw);
    chart()->graph(0)->setPen(QPen(color, 1.0));
    chart()->graph(0)->setBrush(blended(c.panel, color, 0.14));
    rebuildAnnotations();
}

void RankPlot::clear()
{
    m_cuts.clear();
    m_chosen = -1;
    setProbabilities({});
}

void RankPlot::setProbabilities(std::vector<float> descending)
{
    m_probabilities = std::move(descending);
    rebuildGraph();
    rebuildAnnotations();
    dataChanged();
}

void RankPlot::rebuildGraph()
{
    QVector<double> keys, values;
    const double factor = std::pow(10.0, 1.0 / pointsPerDecade);
    const std::size_t count = m_probabilities.size();
    for (double rank = 1.0; static_cast<std::size_t>(rank) <= count;) {
        const auto index = static_cast<std::size_t>(rank) - 1;
        keys << static_cast<double>(index + 1);
        values << percentOf(m_probabilities[index]);
        rank = std::max(static_cast<double>(index + 2), rank * factor);
    }
    chart()->graph(0)->setData(keys, values, true);
}

void RankPlot::setChosen(int rank, const QString &label)
{
    m_chosen = rank;
    m_chosenLabel = label;
    rebuildAnnotations();
    replotLater();
}

void RankPlot::setCuts(std::vector<RankCut> cuts)
{
    m_cuts = std::move(cuts);
    rebuildAnnotations();
    replotLater();
}

int RankPlot::drawnPoints() const
{
    return chart()->graph(0)->dataCount();
}

void RankPlot::rebuildAnnotations()
{
    const ThemeColors &c = Theme::instance().colors();
    annotations()->lines.clear();
    annotations()->marks.clear();
    for (const RankCut &cut : m_cuts)
        annotations()->lines.push_back({cut.kept + 0.5,
                                        LineDirection::Vertical,
                                        LineLook::Dashed,
                                        c.stage(cut.family),
                                        c.stageText(cut.family),
                                        cut.label,
                                        {}});
    if (m_chosen >= 0 && m_chosen < static_cast<int>(m_probabilities.size()))
        annotations()->marks.push_back(
            {QPointF(m_chosen + 1.0, percentOf(m_probabilities[static_cast<std::size_t>(m_chosen)])),
             c.accent, c.text, m_chosenLabel});
}

PlotRange RankPlot::fullX() const
{
    return {0.9, std::max(10.0, static_cast<double>(m_probabilities.size())) * 1.1};
}

PlotRange RankPlot::fullY(const PlotRange &visible) const
{
    if (m_probabilities.empty())
        return {0.001, 100.0};
    const std::size_t count = m_probabilities.size();
    const auto at = [&](double rank) {
        const auto index = static_cast<std::size_t>(std::max(1.0, std::round(rank))) - 1;
        return percentOf(m_probabilities[std::min(index, count - 1)]);
    };
    // the far tail falls without end; twelve decades say enough
    const double high = std::min(150.0, at(visible.from) * 2.0);
    return {std::max(at(visible.to) / 2.0, high * 1e-12), high};
}

QString RankPlot::readout(double x, double) const
{
    const double rank = std::round(x);
    if (rank < 1.0 || rank > static_cast<double>(m_probabilities.size()))
        return {};
    const auto index = static_cast<std::size_t>(rank) - 1;
    return tr("rank %1").arg(formatCount(index + 1)) + QLatin1Char('\n') +
           tr("raw %1 %").arg(formatSignificant(static_cast<double>(m_probabilities[index]) * 100.0, 3));
}

void RankPlot::writeCsv(QTextStream &out) const
{
    out << "rank,probability\n";
    for (std::size_t i = 0; i < m_probabilities.size(); ++i)
        out << i + 1 << ',' << QString::number(static_cast<double>(m_probabilities[i]), 'g', 9) << '\n';
}

} // namespace tokenloupe
