// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/plots/plot.h"

#include <QPointF>
#include <QString>
#include <vector>

namespace tokenloupe {

/// What is needed over a setting, against what there is: the curve dashed (it is computed, not measured), the
/// capacity as a labelled line, the setting as it is now as a mark, and where the curve meets the capacity.
class CapacityPlot : public Plot
{
    Q_OBJECT

public:
    CapacityPlot(const QString &accessibleName, const QString &xUnit, const QString &yUnit,
                 QWidget *parent = nullptr);

    void setYUnit(const QString &unit); ///< before values in it are set
    /// Rising x; y in the plot's unit.
    void setCurve(std::vector<QPointF> points);
    void setCapacity(double y, const QString &label);            ///< ≤ 0: none
    void setCurrent(const QPointF &point, const QString &label); ///< label empty: none
    void setCrossing(double x, const QString &label);            ///< ≤ 0: none

protected:
    PlotRange fullX() const override;
    PlotRange fullY(const PlotRange &visible) const override;
    void applyColors() override;
    QString readout(double x, double y) const override;
    void writeCsv(QTextStream &out) const override;

private:
    void rebuildAnnotations();
    double valueOn(double x) const;

    std::vector<QPointF> m_points;
    double m_capacity = 0.0;
    double m_crossing = 0.0;
    QPointF m_current;
    QString m_capacityLabel, m_currentLabel, m_crossingLabel, m_xUnit, m_yUnit;
};

} // namespace tokenloupe
