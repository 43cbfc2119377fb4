// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/plots/plot.h"

#include <vector>

namespace tokenloupe {

class SpanBars;

/// The divergence at one position of a text.
struct DivergenceBar
{
    int position = 0; ///< from 0
    double kl = 0.0;  ///< nats
    QString label;    ///< the token after which it is: for the readout
    bool operator==(const DivergenceBar &) const = default;
};

/// Divergence over the positions of a text, one bar each, the mean as a dashed line and the largest marked.
/// Positions are counted from 1.
class DivergencePlot : public Plot
{
    Q_OBJECT

public:
    explicit DivergencePlot(const QString &accessibleName, QWidget *parent = nullptr);

    /// By rising position; those that were not compared are left out. `length`: of the text.
    void setBars(std::vector<DivergenceBar> bars, int length);
    /// Where the prompt ends: positions before it are the prompt's.
    void setPromptLength(int positions);
    void setSelected(int position); ///< from 0; -1: none
    int drawnBars() const;          ///< (tests)

Q_SIGNALS:
    void positionClicked(int position); ///< from 0

protected:
    PlotRange fullX() const override;
    PlotRange fullY(const PlotRange &visible) const override;
    void applyColors() override;
    QString readout(double x, double y) const override;
    void writeCsv(QTextStream &out) const override;

private:
    int barAt(double x) const; ///< index; where bars are thinner than a pixel: the largest in it; -1: none
    int indexOf(int position) const;
    double largestKl() const; ///< finite
    void rebuildLabels();

    std::vector<DivergenceBar> m_data;
    int m_length = 0;
    int m_prompt = 0;
    int m_selected = -1;
    double m_divisor = 1.0;
    SpanBars *m_bars = nullptr; ///< owned by the chart
};

} // namespace tokenloupe
