// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/plots/plot.h"

#include <vector>

namespace tokenloupe {

class SpanBars;

/// What the logits of a part of the axis differ by, from the least to the most.
struct DifferenceSpan
{
    double from = 0.0, to = 1.0; ///< logits of the first row
    double low = 0.0, high = 0.0;
    std::uint32_t tokens = 0;
    bool operator==(const DifferenceSpan &) const = default;
};

/// How much the logits of two rows differ, over the logit: the whole vocabulary, reduced to columns.
class DifferencePlot : public Plot
{
    Q_OBJECT

public:
    explicit DifferencePlot(const QString &accessibleName, QWidget *parent = nullptr);

    void setSpans(std::vector<DifferenceSpan> spans); ///< by rising logit
    int drawnBars() const;                            ///< (tests)

protected:
    PlotRange fullX() const override;
    PlotRange fullY(const PlotRange &visible) const override;
    void applyColors() override;
    QString readout(double x, double y) const override;
    void writeCsv(QTextStream &out) const override;

private:
    std::vector<DifferenceSpan> m_spans;
    double m_divisor = 1.0;     // of the y axis
    SpanBars *m_bars = nullptr; ///< owned by the chart
};

} // namespace tokenloupe
