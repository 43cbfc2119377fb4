// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/differenceplot.h"

#include "widgets/plots/plotannotations.h"
#include "widgets/plots/plotticker.h"
#include "widgets/plots/powerscale.h"
#include "widgets/plots/spanbars.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <qcustomplot.h>

#include <QTextStream>
#include <algorithm>
#include <cmath>

namespace tokenloupe {

DifferencePlot::DifferencePlot(const QString &accessibleName, QWidget *parent)
    : Plot(accessibleName, tr("logit"), tr("Δ"), parent)
{
    for (QCPAxis *axis : {chart()->xAxis, chart()->yAxis})
        axis->setTicker(QSharedPointer<PlotTicker>::create(TickKind::Real));
    chart()->yAxis->ticker()->setTickCount(3);
    m_bars = new SpanBars(chart());
    finishConstruction();
}

void DifferencePlot::setSpans(std::vector<DifferenceSpan> spans)
{
    if (spans == m_spans)
        return;
    m_spans = std::move(spans);
    double largest = 0.0;
    for (const DifferenceSpan &span : m_spans)
        largest = std::max({largest, std::abs(span.low), std::abs(span.high)});
    const PowerScale scale = powerScaleFor(largest);
    m_divisor = scale.divisor;
    annotations()->yUnit = scale.text.isEmpty() ? tr("Δ") : tr("Δ, %1").arg(scale.text);
    m_bars->spans.clear();
    for (const DifferenceSpan &span : m_spans)
        m_bars->spans.push_back({span.from, span.to, span.low / m_divisor, span.high / m_divisor});
    dataChanged();
}

int DifferencePlot::drawnBars() const
{
    return m_bars->drawn;
}

void DifferencePlot::applyColors()
{
    const ThemeColors &c = Theme::instance().colors();
    m_bars->color = m_bars->quietColor = c.stage(StageFamily::CountCut);
    annotations()->lines = {
        {0.0, LineDirection::Horizontal, LineLook::Solid, c.faint, c.muted, QString(), QString()}};
}

PlotRange DifferencePlot::fullX() const
{
    if (m_spans.empty())
        return {0.0, 1.0};
    const double margin = std::max(1e-6, (m_spans.back().to - m_spans.front().from) * 0.02);
    return {m_spans.front().from - margin, m_spans.back().to + margin};
}

PlotRange DifferencePlot::fullY(const PlotRange &visible) const
{
    double largest = 0.0;
    for (const DifferenceSpan &span : m_spans) {
        if (span.to >= visible.from && span.from <= visible.to)
            largest = std::max({largest, std::abs(span.low), std::abs(span.high)});
    }
    largest = largest > 0.0 ? largest / m_divisor : 1.0;
    return {-largest * 1.12, largest * 1.12};
}

QString DifferencePlot::readout(double x, double) const
{
    const auto span =
        std::find_if(m_spans.begin(), m_spans.end(), [x](const DifferenceSpan &s) { return x <= s.to; });
    if (span == m_spans.end() || x < span->from)
        return {};
    return tr("logit %1").arg(formatSignificant(x, 3)) + QLatin1Char('\n') +
           counted(span->tokens, tr("token"), tr("tokens")) + QLatin1Char('\n') +
           tr("Δ %1 to %2").arg(formatSignificant(span->low, 3), formatSignificant(span->high, 3));
}

void DifferencePlot::writeCsv(QTextStream &out) const
{
    out << "logit_from,logit_to,tokens,lowest_difference,highest_difference\n";
    for (const DifferenceSpan &span : m_spans)
        out << QString::number(span.from, 'g', 9) << ',' << QString::number(span.to, 'g', 9) << ','
            << span.tokens << ',' << QString::number(span.low, 'g', 9) << ','
            << QString::number(span.high, 'g', 9) << '\n';
}

} // namespace tokenloupe
