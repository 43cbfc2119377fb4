// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <qcustomplot.h>

#include <QColor>
#include <QString>
#include <vector>

namespace tokenloupe {

enum class LineDirection : std::uint8_t { Horizontal, Vertical };
enum class LineLook : std::uint8_t { Solid, Dashed };

/// A labelled line across the chart.
struct PlotLine
{
    double value = 0.0; ///< y of a horizontal one, x of a vertical one
    LineDirection direction = LineDirection::Horizontal;
    LineLook look = LineLook::Solid;
    QColor color;
    QColor textColor;
    QString label;
    QString secondLabel; ///< vertical ones: on the other side of the line
};

/// A marked point with a label.
struct PlotMark
{
    QPointF point;
    QColor color;
    QColor textColor;
    QString label;
};

/// A square of colour and a name, in the margin above the chart.
struct PlotLegendEntry
{
    QString name;
    QColor color;
};

/// Lines, marks, units and legend of a chart. Labels are placed when they are drawn: each takes the best of
/// several places that is inside the chart and touches no other label, with a preference for places that no
/// line and no data passes; one that finds no place is left out.
class PlotAnnotations : public QCPAbstractItem
{
    Q_OBJECT

public:
    explicit PlotAnnotations(QCustomPlot *chart);

    std::vector<PlotLine> lines;
    std::vector<PlotMark> marks;
    std::vector<PlotLegendEntry> legend;
    QString xUnit, yUnit;
    QColor unitColor, ground;
    double cursorX = qQNaN(); ///< thin line under the mouse

    /// Where labels went at the last replot (tests; in the chart's pixels).
    const std::vector<QRectF> &placedLabels() const { return m_placed; }
    double selectTest(const QPointF &, bool, QVariant *) const override { return -1; }

protected:
    void draw(QCPPainter *painter) override;

private:
    struct Place
    {
        QRectF rect;
        double cost = 0.0;
    };
    void drawLines(QCPPainter *painter);
    void drawMarks(QCPPainter *painter);
    void drawUnits(QCPPainter *painter);
    void place(QCPPainter *painter, const std::vector<QRectF> &places, const QString &text,
               const QColor &color, const PlotLine *own);
    double costOf(const QRectF &rect, const PlotLine *own) const;
    void collectData();
    QPointF pixel(double x, double y) const;

    std::vector<QRectF> m_placed;
    std::vector<QPointF> m_data; ///< pixels that graphs pass
};

} // namespace tokenloupe
