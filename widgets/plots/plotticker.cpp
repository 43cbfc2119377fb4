// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/plotticker.h"

#include "widgets/theme/numbers.h"

#include <algorithm>
#include <cmath>

namespace tokenloupe {

PlotTicker::PlotTicker(TickKind kind)
    : m_kind(kind)
{}

double PlotTicker::getTickStep(const QCPRange &range)
{
    const double step = QCPAxisTicker::getTickStep(range);
    return m_kind == TickKind::Real ? step : std::max(1.0, std::round(step));
}

QString PlotTicker::getTickLabel(double tick, const QLocale &, QChar, int)
{
    if (m_kind == TickKind::Counted && tick < 0.5)
        return {};
    // sums of steps leave 1e-17 where 0 is meant
    QString text = formatSignificant(std::abs(tick) < 1e-12 ? 0.0 : tick, 4);
    if (text.contains(QLatin1Char('.')) && !text.contains(QChar(0x00D7))) {
        while (text.endsWith(QLatin1Char('0')))
            text.chop(1);
        if (text.endsWith(QLatin1Char('.')))
            text.chop(1);
    }
    return text;
}

QString PlotLogTicker::getTickLabel(double tick, const QLocale &, QChar, int)
{
    const QString text = formatSignificant(tick, 1);
    const QString one = QStringLiteral("1×");
    return text.startsWith(one) ? text.mid(one.size()) : text;
}

} // namespace tokenloupe
