// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/plots/plot.h"

#include <array>
#include <functional>
#include <span>
#include <vector>

namespace tokenloupe {

class TimeBars;

/// Where one token's time went, in milliseconds.
struct TimeSplit
{
    double forward = 0.0;
    double sampling = 0.0;
    double rest = 0.0;
    double total() const { return forward + sampling + rest; }
};

/// One bar a token, stacked: forward, sampling, rest; before them the prefill as a bar of its own, cut off
/// with its number when it is out of scale. The selected token is outlined; a click on a bar selects. When
/// there are more tokens than pixels each column shows its slowest token, so that no spike is lost.
class StackedTimePlot : public Plot
{
    Q_OBJECT

public:
    explicit StackedTimePlot(const QString &accessibleName, QWidget *parent = nullptr);

    void clear();
    void append(std::span<const TimeSplit> tokens);
    void truncate(int count);    ///< keeps the first `count` tokens
    void setPrefill(double ms);  ///< 0: none
    void setSelected(int token); ///< from 0; -1: none
    /// More lines about a token, for its readout.
    void setDetails(std::function<QString(int token)> details) { m_details = std::move(details); }
    int tokenCount() const { return static_cast<int>(m_tokens.size()); }
    int tokenAt(double x) const; ///< the token that is drawn there; -1: none
    int drawnColumns() const;    ///< at the last replot (tests)

Q_SIGNALS:
    void tokenClicked(int token);

protected:
    PlotRange fullX() const override;
    PlotRange fullY(const PlotRange &visible) const override;
    void applyColors() override;
    QString readout(double x, double y) const override;
    void writeCsv(QTextStream &out) const override;

private:
    friend class TimeBars;
    int slowest(int from, int to) const; ///< in [from, to)

    std::vector<TimeSplit> m_tokens;
    std::function<QString(int)> m_details;
    double m_prefillMs = 0.0;
    int m_selected = -1;
    TimeBars *m_bars = nullptr; ///< owned by the chart
};

} // namespace tokenloupe
