// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <qcustomplot.h>

#include <QColor>
#include <vector>

namespace tokenloupe {

/// A bar that stands from `low` to `high` over a part of the x axis.
struct BarSpan
{
    double from = 0.0, to = 1.0;
    double low = 0.0, high = 0.0;
    bool operator==(const BarSpan &) const = default;
};

/// Paints bars on whole pixels. Where several fall into one column of pixels, the column shows what all of
/// them reach.
class SpanBars : public QCPAbstractItem
{
    Q_OBJECT

public:
    explicit SpanBars(QCustomPlot *chart);

    double selectTest(const QPointF &, bool, QVariant *) const override { return -1; }

    std::vector<BarSpan> spans; ///< by rising x
    QColor color, quietColor;   ///< quietColor: of all but the selected one, while there is one
    QColor outline;
    int selected = -1; ///< index of a span that is outlined; -1: none
    int drawn = 0;     ///< bars of the last drawing (tests)

protected:
    void draw(QCPPainter *painter) override;

private:
    void drawOutline(QCPPainter *painter);
};

} // namespace tokenloupe
