// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/plots/plot.h"

#include <QPointF>
#include <QString>
#include <span>
#include <vector>

namespace tokenloupe {

/// A quantity that grows in stairs over tokens: the measurement solid with a light ground below, the
/// formula's straight line dashed, a limit as a labelled line, and where one phase ends and the next begins.
class StepLinePlot : public Plot
{
    Q_OBJECT

public:
    StepLinePlot(const QString &accessibleName, const QString &xUnit, const QString &yUnit,
                 QWidget *parent = nullptr);

    void clear();
    /// Rising x; only the new points are handed over.
    void append(std::span<const QPointF> points);
    int pointCount() const;
    void setFormula(double perX, const QString &label);                         ///< y = perX · x
    void setLimit(double x, const QString &label);                              ///< ≤ 0: none
    void setPhaseMarker(double x, const QString &before, const QString &after); ///< < 0: none
    void setSelected(double x);                                                 ///< NaN: none

protected:
    PlotRange fullX() const override;
    PlotRange widestX() const override;
    PlotRange fullY(const PlotRange &visible) const override;
    void applyColors() override;
    QString readout(double x, double y) const override;
    void writeCsv(QTextStream &out) const override;

private:
    void rebuildLines();
    void rebuildFormula();
    double lastX() const;

    double m_perX = 0.0;
    double m_limit = 0.0;
    double m_phase = -1.0;
    double m_selected;
    QString m_formulaLabel, m_limitLabel, m_before, m_after, m_xUnit, m_yUnit;
};

} // namespace tokenloupe
