// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/samplersettings.h"
#include "widgets/plots/plot.h"

#include <QString>
#include <vector>

namespace tokenloupe {

/// One line of a comparison: a value a step, from step 1.
struct ComparedSeries
{
    QString name;
    std::vector<double> values;
    StageFamily color = StageFamily::CountCut;
    bool operator==(const ComparedSeries &) const = default;
};

/// A few quantities over the steps of a run, for comparing: each line is labelled at its end.
class ComparisonPlot : public Plot
{
    Q_OBJECT

public:
    ComparisonPlot(const QString &accessibleName, const QString &yUnit, QWidget *parent = nullptr);

    void setSeries(std::vector<ComparedSeries> series);
    /// The unit at the axis, in exports and in what the cursor reads.
    void setUnit(const QString &yUnit);
    void setSelected(int step); ///< from 0; -1: none
    int pointCount(int series) const;

Q_SIGNALS:
    void stepClicked(int step); ///< from 0

protected:
    PlotRange fullX() const override;
    PlotRange fullY(const PlotRange &visible) const override;
    void applyColors() override;
    QString readout(double x, double y) const override;
    void writeCsv(QTextStream &out) const override;

private:
    int steps() const; ///< of the longest series
    void rebuildLabels();

    std::vector<ComparedSeries> m_series;
    QString m_yUnit;
    int m_selected = -1;
};

} // namespace tokenloupe
