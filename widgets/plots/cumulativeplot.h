// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/plots/plot.h"

#include <optional>
#include <span>
#include <vector>

namespace tokenloupe {

/// Running sums of probability over candidates in descending order: raw and at the draw; the mass cut as a
/// labelled line, the draw u as a line and, where it meets the stairs, the token that it took.
class CumulativePlot : public Plot
{
    Q_OBJECT

public:
    explicit CumulativePlot(const QString &accessibleName, QWidget *parent = nullptr);

    /// Entry i is the sum of the first i + 1 probabilities.
    void setSums(std::span<const double> raw, std::span<const double> final);
    void setMassCut(std::optional<double> p, const QString &label);
    /// `index`: of the drawn token in the final order; -1: none.
    void setDraw(double u, int index, const QString &label, const QString &tokenLabel);
    void clear();

protected:
    PlotRange fullX() const override;
    PlotRange widestX() const override;
    PlotRange fullY(const PlotRange &visible) const override;
    void applyColors() override;
    QString readout(double x, double y) const override;
    void writeCsv(QTextStream &out) const override;

private:
    void rebuildAnnotations();

    std::vector<double> m_raw, m_final;
    std::optional<double> m_cut;
    double m_u = 0.0;
    int m_drawn = -1;
    QString m_cutLabel, m_drawLabel, m_tokenLabel;
};

} // namespace tokenloupe
