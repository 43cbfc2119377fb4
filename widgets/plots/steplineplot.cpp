// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/steplineplot.h"

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

// The limit is drawn into the first view once this share of it is used; before, it would squeeze all else.
constexpr double limitInView = 0.5;
// A horizontal limit is drawn into the view when that makes it at most so much higher.
constexpr double budgetInView = 1.35;

} // namespace

StepLinePlot::StepLinePlot(const QString &accessibleName, const QString &xUnit, const QString &yUnit,
                           QWidget *parent)
    : Plot(accessibleName, xUnit, yUnit, parent)
    , m_selected(qQNaN())
    , m_xUnit(xUnit)
    , m_yUnit(yUnit)
{
    chart()->xAxis->setTicker(QSharedPointer<PlotTicker>::create(TickKind::Whole));
    chart()->yAxis->setTicker(QSharedPointer<PlotTicker>::create(TickKind::Real));
    QCPGraph *measured = chart()->addGraph();
    measured->setLineStyle(QCPGraph::lsStepLeft);
    QCPGraph *formula = chart()->addGraph();
    formula->setLineStyle(QCPGraph::lsLine);
    finishConstruction();
}

void StepLinePlot::applyColors()
{
    const ThemeColors &c = Theme::instance().colors();
    const QColor color = c.stage(StageFamily::CountCut);
    chart()->graph(0)->setPen(QPen(color, 1.0));
    chart()->graph(0)->setBrush(blended(c.panel, color, 0.14));
    QPen dashed(c.muted, 1.0);
    dashed.setDashPattern({4.0, 3.0});
    chart()->graph(1)->setPen(dashed);
    rebuildLines();
}

void StepLinePlot::clear()
{
    chart()->graph(0)->data()->clear();
    rebuildFormula();
    dataChanged();
}

void StepLinePlot::append(std::span<const QPointF> points)
{
    if (points.empty())
        return;
    QCPGraph *graph = chart()->graph(0);
    for (const QPointF &point : points)
        graph->addData(point.x(), point.y());
    rebuildFormula();
    dataChanged();
}

int StepLinePlot::pointCount() const
{
    return chart()->graph(0)->dataCount();
}

double StepLinePlot::lastX() const
{
    const auto points = chart()->graph(0)->data();
    return points->isEmpty() ? 0.0 : (points->constEnd() - 1)->key;
}

void StepLinePlot::setFormula(double perX, const QString &label)
{
    setFormula(std::vector<LinearTerm>{{perX}}, label);
}

void StepLinePlot::setFormula(std::vector<LinearTerm> terms, const QString &label)
{
    m_terms = std::move(terms);
    m_formulaLabel = label;
    rebuildFormula();
    dataChanged();
}

double StepLinePlot::formulaAt(double x) const
{
    double y = 0.0;
    for (const LinearTerm &term : m_terms)
        y += term.perX * std::clamp(x, 0.0, term.upTo);
    return y;
}

void StepLinePlot::rebuildFormula()
{
    QCPGraph *graph = chart()->graph(1);
    graph->data()->clear();
    if (m_terms.empty())
        return;
    const double end = std::max(widestX().to, fullX().to);
    std::vector<double> knees{0.0, end};
    for (const LinearTerm &term : m_terms)
        if (term.upTo < end)
            knees.push_back(term.upTo);
    std::sort(knees.begin(), knees.end());
    for (const double x : knees)
        graph->addData(x, formulaAt(x));
}

void StepLinePlot::setLimit(double x, const QString &label)
{
    m_limit = x;
    m_limitLabel = label;
    rebuildLines();
    rebuildFormula();
    dataChanged();
}

void StepLinePlot::setBudget(double y, const QString &label, double endsAt, const QString &endLabel)
{
    m_budget = y;
    m_budgetLabel = label;
    m_budgetEnd = endsAt;
    m_budgetEndLabel = endLabel;
    rebuildLines();
    rebuildFormula();
    dataChanged();
}

void StepLinePlot::setDips(std::vector<LabelledPoint> dips)
{
    m_dips = std::move(dips);
    rebuildLines();
    replotLater();
}

void StepLinePlot::setPhaseMarker(double x, const QString &before, const QString &after)
{
    m_phase = x;
    m_before = before;
    m_after = after;
    rebuildLines();
    replotLater();
}

void StepLinePlot::setSelected(double x)
{
    m_selected = x;
    rebuildLines();
    replotLater();
}

void StepLinePlot::rebuildLines()
{
    const ThemeColors &c = Theme::instance().colors();
    std::vector<PlotLine> &lines = annotations()->lines;
    lines.clear();
    if (m_phase >= 0.0)
        lines.push_back(
            {m_phase, LineDirection::Vertical, LineLook::Solid, c.faint, c.muted, m_before, m_after});
    if (m_limit > 0.0)
        lines.push_back(
            {m_limit, LineDirection::Vertical, LineLook::Solid, c.error, c.error, m_limitLabel, {}});
    if (m_budget > 0.0)
        lines.push_back({m_budget,
                         LineDirection::Horizontal,
                         LineLook::Solid,
                         c.stage(StageFamily::Penalties),
                         c.stageText(StageFamily::Penalties),
                         m_budgetLabel,
                         {}});
    if (m_budgetEnd > 0.0)
        lines.push_back({m_budgetEnd,
                         LineDirection::Vertical,
                         LineLook::Dashed,
                         c.stage(StageFamily::Penalties),
                         c.stageText(StageFamily::Penalties),
                         m_budgetEndLabel,
                         {}});
    annotations()->marks.clear();
    for (const LabelledPoint &dip : m_dips)
        annotations()->marks.push_back(
            {dip.at, c.stage(StageFamily::Temperature), c.stageText(StageFamily::Temperature), dip.label});
    if (std::isfinite(m_selected))
        lines.push_back({m_selected, LineDirection::Vertical, LineLook::Solid, c.accent, c.accent, {}, {}});
}

PlotRange StepLinePlot::fullX() const
{
    const double last = lastX();
    if (m_limit > 0.0 && last >= m_limit * limitInView)
        return {0.0, std::max(m_limit * 1.02, last * 1.05)}; // it goes on beyond where tokens are dropped
    // steps of a factor of two at most: the axis must not move with every token
    double end = 32.0;
    while (end < last * 1.05)
        end *= end * 1.5 >= last * 1.05 ? 1.5 : 2.0;
    return {0.0, end};
}

PlotRange StepLinePlot::widestX() const
{
    return {0.0, std::max({fullX().to, m_limit * 1.02, m_budgetEnd * 1.02})};
}

PlotRange StepLinePlot::fullY(const PlotRange &visible) const
{
    double top = formulaAt(visible.to);
    const auto points = chart()->graph(0)->data();
    auto it = points->findBegin(visible.from, true);
    for (; it != points->constEnd() && it->key <= visible.to; ++it)
        top = std::max(top, it->value);
    if (m_budget > top && m_budget <= top * budgetInView)
        top = m_budget * 1.08; // with room for its label
    return {0.0, top > 0.0 ? top * 1.06 : 1.0};
}

QString StepLinePlot::readout(double x, double) const
{
    const auto points = chart()->graph(0)->data();
    if (points->isEmpty())
        return {};
    const double at = std::round(x);
    QString text = formatCount(static_cast<std::uint64_t>(std::max(0.0, at))) + QLatin1Char(' ') + m_xUnit;
    if (at >= points->constBegin()->key && at <= lastX())
        text += QLatin1Char('\n') +
                tr("measured %1 %2").arg(formatSignificant(points->findBegin(at, true)->value, 4), m_yUnit);
    if (!m_terms.empty())
        text += QLatin1Char('\n') +
                tr("%1: %2 %3").arg(m_formulaLabel, formatSignificant(formulaAt(at), 4), m_yUnit);
    return text;
}

void StepLinePlot::writeCsv(QTextStream &out) const
{
    out << m_xUnit << ',' << "measured_" << m_yUnit << ',' << "formula_" << m_yUnit << '\n';
    const auto points = chart()->graph(0)->data();
    for (auto it = points->constBegin(); it != points->constEnd(); ++it)
        out << QString::number(it->key, 'g', 17) << ',' << QString::number(it->value, 'g', 17) << ','
            << QString::number(formulaAt(it->key), 'g', 17) << '\n';
}

} // namespace tokenloupe
