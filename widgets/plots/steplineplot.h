// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/plots/plot.h"

#include <QPointF>
#include <QString>
#include <limits>
#include <span>
#include <vector>

namespace tokenloupe {

/// A part of the formula: grows by `perX` up to `upTo`, then no more.
struct LinearTerm
{
    double perX = 0.0;
    double upTo = std::numeric_limits<double>::infinity();
    bool operator==(const LinearTerm &) const = default;
};

/// A point of the curve that has something to say.
struct LabelledPoint
{
    QPointF at;
    QString label;
};

/// A quantity that grows in stairs over tokens: the measurement solid with a light ground below, the
/// formula's line dashed, limits as labelled lines, and where one phase ends and the next begins. A limit
/// that is far away is not in the first view; zooming out reaches it.
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
    void setFormula(double perX, const QString &label);                   ///< y = perX · x
    void setFormula(std::vector<LinearTerm> terms, const QString &label); ///< y = Σ terms
    void setLimit(double x, const QString &label);                        ///< ≤ 0: none
    /// What y may reach, and the x at which the formula reaches it (≤ 0 or beyond the limit: no line).
    void setBudget(double y, const QString &label, double endsAt, const QString &endLabel);
    void setDips(std::vector<LabelledPoint> dips); ///< where the quantity was given back
    double formulaAt(double x) const;
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

    std::vector<LinearTerm> m_terms;
    std::vector<LabelledPoint> m_dips;
    double m_limit = 0.0;
    double m_budget = 0.0;
    double m_budgetEnd = 0.0;
    double m_phase = -1.0;
    double m_selected;
    QString m_formulaLabel, m_limitLabel, m_budgetLabel, m_budgetEndLabel, m_before, m_after, m_xUnit,
        m_yUnit;
};

} // namespace tokenloupe
