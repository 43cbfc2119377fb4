// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <qcustomplot.h>

#include <QColor>
#include <array>

namespace tokenloupe {

class StackedTimePlot;
struct TimeSplit;

/// Paints the bars of a StackedTimePlot on whole pixels.
class TimeBars : public QCPAbstractItem
{
    Q_OBJECT

public:
    TimeBars(StackedTimePlot &plot, QCustomPlot *chart);

    double selectTest(const QPointF &, bool, QVariant *) const override { return -1; }

    std::array<QColor, 3> colors;      ///< forward, sampling, rest
    std::array<QColor, 3> quietColors; ///< of tokens that are not selected
    QColor prefill, outline, ground;
    int columns = 0; ///< drawn last

protected:
    void draw(QCPPainter *painter) override;

private:
    void drawBar(QCPPainter *painter, int left, int right, const TimeSplit &split,
                 const std::array<QColor, 3> &palette);
    void drawPrefill(QCPPainter *painter);

    StackedTimePlot &m_plot;
};

} // namespace tokenloupe
