// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/cumulativeplot.h"

#include "widgets/plots/plotannotations.h"
#include "widgets/plots/plotticker.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <qcustomplot.h>

#include <QTextStream>
#include <algorithm>
#include <cmath>

namespace tokenloupe {

CumulativePlot::CumulativePlot(const QString &accessibleName, QWidget *parent)
    : Plot(accessibleName, tr("tokens"), tr("Σ p"), parent)
{
    chart()->xAxis->setTicker(QSharedPointer<PlotTicker>::create(TickKind::Whole));
    chart()->yAxis->setTicker(QSharedPointer<PlotTicker>::create(TickKind::Real));
    for (int i = 0; i < 2; ++i)
        chart()->addGraph()->setLineStyle(QCPGraph::lsStepLeft);
    finishConstruction();
}

void CumulativePlot::applyColors()
{
    const ThemeColors &c = Theme::instance().colors();
    chart()->graph(0)->setPen(QPen(c.stage(StageFamily::Raw), 1.0));
    chart()->graph(1)->setPen(QPen(c.stage(StageFamily::Temperature), 1.0));
    annotations()->legend = {{tr("raw"), c.stage(StageFamily::Raw)},
                             {tr("at the draw"), c.stage(StageFamily::Temperature)}};
    rebuildAnnotations();
}

void CumulativePlot::clear()
{
    m_cut.reset();
    m_drawn = -1;
    setSums({}, {});
}

void CumulativePlot::setSums(std::span<const double> raw, std::span<const double> final)
{
    m_raw.assign(raw.begin(), raw.end());
    m_final.assign(final.begin(), final.end());
    const auto fill = [this](int graph, const std::vector<double> &sums) {
        QVector<double> keys, values;
        keys.reserve(static_cast<qsizetype>(sums.size()) + 1);
        values.reserve(static_cast<qsizetype>(sums.size()) + 1);
        if (!sums.empty()) {
            keys << 0.0;
            values << 0.0;
        }
        // token i covers [i, i + 1): its step rises at i
        for (std::size_t i = 0; i < sums.size(); ++i) {
            keys << static_cast<double>(i);
            values << sums[i];
        }
        if (!sums.empty()) {
            keys << static_cast<double>(sums.size());
            values << sums.back();
        }
        // another step's distribution: nothing of the old data stays
        chart()->graph(graph)->setData(keys, values, true);
    };
    fill(0, m_raw);
    fill(1, m_final);
    rebuildAnnotations();
    dataChanged();
}

void CumulativePlot::setMassCut(std::optional<double> p, const QString &label)
{
    m_cut = p;
    m_cutLabel = label;
    rebuildAnnotations();
    replotLater();
}

void CumulativePlot::setDraw(double u, int index, const QString &label, const QString &tokenLabel)
{
    m_u = u;
    m_drawn = index;
    m_drawLabel = label;
    m_tokenLabel = tokenLabel;
    rebuildAnnotations();
    dataChanged(); // the first view reaches to the drawn token
}

void CumulativePlot::rebuildAnnotations()
{
    const ThemeColors &c = Theme::instance().colors();
    std::vector<PlotLine> &lines = annotations()->lines;
    std::vector<PlotMark> &marks = annotations()->marks;
    lines.clear();
    marks.clear();
    if (m_cut)
        lines.push_back({*m_cut,
                         LineDirection::Horizontal,
                         LineLook::Dashed,
                         c.stage(StageFamily::MassCut),
                         c.stageText(StageFamily::MassCut),
                         m_cutLabel,
                         {}});
    if (m_drawn >= 0) {
        lines.push_back(
            {m_u, LineDirection::Horizontal, LineLook::Solid, c.accent, c.accent, m_drawLabel, {}});
        marks.push_back({QPointF(m_drawn + 0.5, m_u), c.accent, c.text, m_tokenLabel});
    }
}

PlotRange CumulativePlot::widestX() const
{
    return {0.0, std::max<double>(16.0, static_cast<double>(std::max(m_raw.size(), m_final.size())))};
}

PlotRange CumulativePlot::fullX() const
{
    // to where the drawn distribution has all but a thousandth, with some room; the raw tail is a zoom away
    const auto end = std::find_if(m_final.begin(), m_final.end(), [](double sum) { return sum >= 0.999; });
    double last = static_cast<double>(end - m_final.begin()) + 1.0;
    last = std::max({16.0, last * 1.25, m_drawn * 1.25});
    return {0.0, std::min(std::ceil(last), widestX().to)};
}

PlotRange CumulativePlot::fullY(const PlotRange &) const
{
    return {0.0, 1.04};
}

QString CumulativePlot::readout(double x, double) const
{
    if (x < 0.0 || (m_raw.empty() && m_final.empty()))
        return {};
    const auto index = static_cast<std::size_t>(x);
    QString text = tr("first %1 tokens").arg(formatCount(index + 1));
    if (index < m_raw.size())
        text += QLatin1Char('\n') + tr("raw %1 %").arg(formatPercent(m_raw[index]));
    if (!m_final.empty())
        text += QLatin1Char('\n') +
                tr("at the draw %1 %").arg(formatPercent(m_final[std::min(index, m_final.size() - 1)]));
    return text;
}

void CumulativePlot::writeCsv(QTextStream &out) const
{
    out << "tokens,raw,at_the_draw\n";
    for (std::size_t i = 0; i < std::max(m_raw.size(), m_final.size()); ++i) {
        out << i + 1 << ',';
        if (i < m_raw.size())
            out << QString::number(m_raw[i], 'g', 17);
        out << ',';
        if (i < m_final.size())
            out << QString::number(m_final[i], 'g', 17);
        out << '\n';
    }
}

} // namespace tokenloupe
