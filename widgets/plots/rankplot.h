// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/samplersettings.h"
#include "widgets/plots/plot.h"

#include <vector>

namespace tokenloupe {

/// Where a stage cut the ranked vocabulary: the first `kept` ranks stayed.
struct RankCut
{
    double kept = 0.0;
    QString label;
    StageFamily family = StageFamily::CountCut;
};

/// The whole vocabulary by rank on two logarithmic axes: probability in percent over rank from 1. Reduced to
/// what the width can show.
class RankPlot : public Plot
{
    Q_OBJECT

public:
    explicit RankPlot(const QString &accessibleName, QWidget *parent = nullptr);

    void setProbabilities(std::vector<float> descending);
    void setChosen(int rank, const QString &label); ///< from 0; -1: none
    void setCuts(std::vector<RankCut> cuts);
    void clear();
    int drawnPoints() const; ///< (tests)

protected:
    PlotRange fullX() const override;
    PlotRange fullY(const PlotRange &visible) const override;
    void applyColors() override;
    QString readout(double x, double y) const override;
    void writeCsv(QTextStream &out) const override;

private:
    void rebuildAnnotations();
    void rebuildGraph();

    std::vector<float> m_probabilities;
    std::vector<RankCut> m_cuts;
    int m_chosen = -1;
    QString m_chosenLabel;
};

} // namespace tokenloupe
