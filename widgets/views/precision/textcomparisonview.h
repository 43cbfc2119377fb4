// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compare/divergence.h"
#include "widgets/plots/divergenceplot.h"

#include <QWidget>
#include <vector>

class QLabel;
class QStackedLayout;

namespace tokenloupe {

/// A whole text in both precisions: the divergence of every position, and what all of them come to.
class TextComparisonView : public QWidget
{
    Q_OBJECT

public:
    explicit TextComparisonView(QWidget *parent = nullptr);

    struct Text
    {
        std::vector<DivergenceBar> bars; ///< of the positions that were compared
        DivergenceTotals totals;         ///< of them
        int length = 0;
        int promptLength = 0;
        int selected = -1; ///< position
    };
    void setText(Text text);
    /// Instead of a comparison.
    void setExplanation(const QString &text);
    QString verdict() const;
    DivergencePlot *plot() { return m_plot; }

Q_SIGNALS:
    void positionClicked(int position);

private:
    QStackedLayout *m_stack = nullptr;
    QLabel *m_explanation = nullptr;
    QLabel *m_verdict = nullptr;
    DivergencePlot *m_plot = nullptr;
};

} // namespace tokenloupe
