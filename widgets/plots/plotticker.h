// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <qcustomplot.h>

namespace tokenloupe {

enum class TickKind : std::uint8_t { Real, Whole, Counted };

/// Ticks whose labels are written as all numbers of the program; whole ones never between integers,
/// counted ones from 1.
class PlotTicker : public QCPAxisTicker
{
public:
    explicit PlotTicker(TickKind kind);

protected:
    double getTickStep(const QCPRange &range) override;
    QString getTickLabel(double tick, const QLocale &locale, QChar formatChar, int precision) override;

private:
    TickKind m_kind;
};

/// Powers of ten with a few labels, for logarithmic axes.
class PlotLogTicker : public QCPAxisTickerLog
{
protected:
    QString getTickLabel(double tick, const QLocale &locale, QChar formatChar, int precision) override;
};

} // namespace tokenloupe
