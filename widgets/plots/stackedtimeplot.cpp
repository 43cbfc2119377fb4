// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/stackedtimeplot.h"

#include "widgets/plots/plotannotations.h"
#include "widgets/plots/plotticker.h"
#include "widgets/plots/timebars.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <qcustomplot.h>

#include <QTextStream>
#include <algorithm>
#include <cmath>

namespace tokenloupe {

StackedTimePlot::StackedTimePlot(const QString &accessibleName, QWidget *parent)
    : Plot(accessibleName, tr("tokens"), tr("ms"), parent)
{
    chart()->xAxis->setTicker(QSharedPointer<PlotTicker>::create(TickKind::Counted));
    chart()->yAxis->setTicker(QSharedPointer<PlotTicker>::create(TickKind::Real));
    m_bars = new TimeBars(*this, chart());
    connect(this, &Plot::clicked, this, [this](double x, double) {
        if (const int token = tokenAt(x); token >= 0)
            Q_EMIT tokenClicked(token);
    });
    finishConstruction();
}

void StackedTimePlot::applyColors()
{
    const ThemeColors &c = Theme::instance().colors();
    m_bars->colors = {c.stage(StageFamily::CountCut), c.stage(StageFamily::Temperature),
                      c.stage(StageFamily::Raw)};
    for (std::size_t i = 0; i < m_bars->colors.size(); ++i)
        m_bars->quietColors[i] = blended(c.panel, m_bars->colors[i], 0.72);
    m_bars->prefill = c.stage(StageFamily::MassCut);
    m_bars->outline = c.accent;
    m_bars->ground = c.panel;
    std::vector<PlotLegendEntry> &legend = annotations()->legend;
    legend.clear();
    if (m_prefillMs > 0.0)
        legend.push_back({tr("prefill %1").arg(formatMilliseconds(m_prefillMs)), m_bars->prefill});
    legend.push_back({tr("forward"), m_bars->colors[0]});
    legend.push_back({tr("sampling"), m_bars->colors[1]});
    legend.push_back({tr("rest"), m_bars->colors[2]});
}

void StackedTimePlot::clear()
{
    m_tokens.clear();
    m_selected = -1;
    m_prefillMs = 0.0;
    applyColors();
    dataChanged();
}

void StackedTimePlot::append(std::span<const TimeSplit> tokens)
{
    if (tokens.empty())
        return;
    m_tokens.insert(m_tokens.end(), tokens.begin(), tokens.end());
    dataChanged();
}

void StackedTimePlot::truncate(int count)
{
    if (count >= tokenCount())
        return;
    m_tokens.resize(static_cast<std::size_t>(std::max(0, count)));
    if (m_selected >= count)
        m_selected = -1;
    dataChanged();
}

void StackedTimePlot::setPrefill(double ms)
{
    m_prefillMs = ms;
    applyColors();
    dataChanged();
}

void StackedTimePlot::setSelected(int token)
{
    if (token == m_selected)
        return;
    m_selected = token;
    replotLater();
}

int StackedTimePlot::drawnColumns() const
{
    return m_bars->columns;
}

int StackedTimePlot::slowest(int from, int to) const
{
    const auto begin = m_tokens.begin() + from;
    const auto it =
        std::max_element(begin, m_tokens.begin() + to,
                         [](const TimeSplit &a, const TimeSplit &b) { return a.total() < b.total(); });
    return from + static_cast<int>(it - begin);
}

// Tokens are drawn at 1, 2, …; 0 is the prefill's place.
int StackedTimePlot::tokenAt(double x) const
{
    const double pixel = chart()->xAxis->pixelToCoord(1.0) - chart()->xAxis->pixelToCoord(0.0);
    const double centre = std::round(x);
    if (pixel <= 0.5) {
        const int token = static_cast<int>(centre) - 1;
        return centre >= 1.0 && token < tokenCount() ? token : -1;
    }
    // this pixel's tokens
    const int from = std::max(0, static_cast<int>(std::ceil(x - 0.5)) - 1);
    const int to =
        std::min(tokenCount(), std::max(from + 1, static_cast<int>(std::ceil(x + pixel - 0.5)) - 1));
    return from < to ? slowest(from, to) : -1;
}

PlotRange StackedTimePlot::fullX() const
{
    // room for what is to come, in steps, so that bars do not get thinner with every token
    double end = 48.0;
    while (end < tokenCount() * 1.02)
        end *= 1.5;
    return {m_prefillMs > 0.0 ? -0.6 : 0.4, std::floor(end) + 0.6};
}

PlotRange StackedTimePlot::fullY(const PlotRange &visible) const
{
    const int from = std::clamp(static_cast<int>(visible.from) - 1, 0, tokenCount());
    const int to = std::clamp(static_cast<int>(visible.to) + 1, from, tokenCount());
    double top = from < to ? m_tokens[static_cast<std::size_t>(slowest(from, to))].total() : m_prefillMs;
    if (top <= 0.0)
        top = 1.0;
    return {0.0, top * 1.12};
}

QString StackedTimePlot::readout(double x, double) const
{
    if (m_prefillMs > 0.0 && x > -0.5 && x < 0.5)
        return tr("prefill %1").arg(formatMilliseconds(m_prefillMs));
    const int token = tokenAt(x);
    if (token < 0)
        return {};
    const TimeSplit &split = m_tokens[static_cast<std::size_t>(token)];
    QStringList lines{
        tr("step %1: %2")
            .arg(formatCount(static_cast<std::uint64_t>(token) + 1), formatMilliseconds(split.total())),
        tr("forward %1").arg(formatMilliseconds(split.forward)),
        tr("sampling %1").arg(formatMilliseconds(split.sampling)),
        tr("rest %1").arg(formatMilliseconds(split.rest))};
    if (m_details)
        lines << m_details(token);
    lines.removeAll(QString());
    return lines.join(QLatin1Char('\n'));
}

void StackedTimePlot::writeCsv(QTextStream &out) const
{
    out << "step,forward_ms,sampling_ms,rest_ms\n";
    for (std::size_t i = 0; i < m_tokens.size(); ++i)
        out << i + 1 << ',' << QString::number(m_tokens[i].forward, 'g', 17) << ','
            << QString::number(m_tokens[i].sampling, 'g', 17) << ','
            << QString::number(m_tokens[i].rest, 'g', 17) << '\n';
}

} // namespace tokenloupe
