// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/divergenceplot.h"

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

namespace {

constexpr double halfBar = 0.36;

} // namespace

DivergencePlot::DivergencePlot(const QString &accessibleName, QWidget *parent)
    : Plot(accessibleName, tr("position"), tr("nats"), parent)
{
    chart()->xAxis->setTicker(QSharedPointer<PlotTicker>::create(TickKind::Counted));
    chart()->yAxis->setTicker(QSharedPointer<PlotTicker>::create(TickKind::Real));
    m_bars = new SpanBars(chart());
    connect(this, &Plot::clicked, this, [this](double x, double) {
        if (const int bar = barAt(x); bar >= 0)
            Q_EMIT positionClicked(m_data[static_cast<std::size_t>(bar)].position);
    });
    finishConstruction();
}

double DivergencePlot::largestKl() const
{
    double largest = 0.0;
    for (const DivergenceBar &bar : m_data) {
        if (std::isfinite(bar.kl))
            largest = std::max(largest, bar.kl);
    }
    return largest;
}

void DivergencePlot::setBars(std::vector<DivergenceBar> bars, int length)
{
    if (bars == m_data && length == m_length)
        return;
    m_data = std::move(bars);
    m_length = length;
    const double largest = largestKl();
    const PowerScale scale = powerScaleFor(largest);
    m_divisor = scale.divisor;
    annotations()->yUnit = scale.text.isEmpty() ? tr("nats") : tr("%1 nats").arg(scale.text);
    m_bars->spans.clear();
    for (const DivergenceBar &bar : m_data) {
        const double x = bar.position + 1.0;
        const double kl = std::isfinite(bar.kl) ? bar.kl : largest * 2.0 + 1.0; // out at the top
        m_bars->spans.push_back({x - halfBar, x + halfBar, 0.0, kl / m_divisor});
    }
    m_bars->selected = indexOf(m_selected);
    rebuildLabels();
    dataChanged();
}

void DivergencePlot::setPromptLength(int positions)
{
    if (positions == m_prompt)
        return;
    m_prompt = positions;
    rebuildLabels();
    replotLater();
}

void DivergencePlot::setSelected(int position)
{
    if (position == m_selected)
        return;
    m_selected = position;
    m_bars->selected = indexOf(position);
    replotLater();
}

int DivergencePlot::indexOf(int position) const
{
    const auto found =
        std::lower_bound(m_data.begin(), m_data.end(), position,
                         [](const DivergenceBar &bar, int wanted) { return bar.position < wanted; });
    return found != m_data.end() && found->position == position ? static_cast<int>(found - m_data.begin())
                                                                : -1;
}

int DivergencePlot::barAt(double x) const
{
    const double pixel = chart()->xAxis->pixelToCoord(1.0) - chart()->xAxis->pixelToCoord(0.0);
    if (pixel <= 0.5)
        return indexOf(static_cast<int>(std::lround(x)) - 1);
    int best = -1;
    for (std::size_t i = 0; i < m_data.size(); ++i) {
        if (std::abs(m_data[i].position + 1.0 - x) <= pixel &&
            (best < 0 || m_data[i].kl > m_data[static_cast<std::size_t>(best)].kl))
            best = static_cast<int>(i);
    }
    return best;
}

int DivergencePlot::drawnBars() const
{
    return m_bars->drawn;
}

void DivergencePlot::applyColors()
{
    const ThemeColors &c = Theme::instance().colors();
    m_bars->color = c.stage(StageFamily::CountCut);
    m_bars->quietColor = blended(c.panel, m_bars->color, 0.72);
    m_bars->outline = c.accent;
    rebuildLabels();
}

void DivergencePlot::rebuildLabels()
{
    const ThemeColors &c = Theme::instance().colors();
    annotations()->lines.clear();
    annotations()->marks.clear();
    if (m_data.empty())
        return;
    double sum = 0.0;
    const DivergenceBar *largest = &m_data.front();
    for (const DivergenceBar &bar : m_data) {
        sum += bar.kl;
        if (bar.kl > largest->kl)
            largest = &bar;
    }
    const double mean = sum / static_cast<double>(m_data.size());
    if (std::isfinite(mean))
        annotations()->lines.push_back({mean / m_divisor,
                                        LineDirection::Horizontal,
                                        LineLook::Dashed,
                                        c.stage(StageFamily::Penalties),
                                        c.stageText(StageFamily::Penalties),
                                        tr("mean %1").arg(formatSignificant(mean, 2)),
                                        {}});
    if (m_prompt > 0 && m_prompt < m_length)
        annotations()->lines.push_back({m_prompt + 0.5, LineDirection::Vertical, LineLook::Solid, c.faint,
                                        c.muted, tr("prompt"), tr("reply")});
    if (std::isfinite(largest->kl) && largest->kl > 0.0)
        annotations()->marks.push_back({QPointF(largest->position + 1.0, largest->kl / m_divisor), c.accent,
                                        c.text, formatSignificant(largest->kl, 2)});
}

PlotRange DivergencePlot::fullX() const
{
    return {0.4, std::max(8.0, static_cast<double>(m_length)) + 0.6};
}

PlotRange DivergencePlot::fullY(const PlotRange &visible) const
{
    double top = 0.0;
    for (const DivergenceBar &bar : m_data) {
        if (std::isfinite(bar.kl) && bar.position + 1.5 >= visible.from && bar.position + 0.5 <= visible.to)
            top = std::max(top, bar.kl);
    }
    return {0.0, top > 0.0 ? top / m_divisor * 1.25 : 1.0};
}

QString DivergencePlot::readout(double x, double) const
{
    const int index = barAt(x);
    if (index < 0)
        return {};
    const DivergenceBar &bar = m_data[static_cast<std::size_t>(index)];
    return tr("position %1").arg(formatCount(static_cast<std::uint64_t>(bar.position) + 1)) +
           QLatin1Char('\n') + tr("after %1").arg(bar.label) + QLatin1Char('\n') +
           tr("KL %1 nats").arg(formatSignificant(bar.kl, 3));
}

void DivergencePlot::writeCsv(QTextStream &out) const
{
    out << "position,kl_nats\n";
    for (const DivergenceBar &bar : m_data)
        out << bar.position + 1 << ',' << QString::number(bar.kl, 'g', 17) << '\n';
}

} // namespace tokenloupe
