// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/comparisonstore.h"

#include <QWidget>
#include <memory>
#include <optional>

class QBoxLayout;
class QGridLayout;
class QLabel;
class QStackedLayout;

namespace tokenloupe {

class CellTable;
class ComparedCandidateModel;
class DifferencePlot;
class ElidedLabel;
class TokenCellDelegate;

/// One position in both precisions: the candidates side by side, what the rows differ by in numbers, and the
/// difference of every logit.
class StepComparisonView : public QWidget
{
    Q_OBJECT

public:
    explicit StepComparisonView(QWidget *parent = nullptr);

    /// `chosen`: the token that the text goes on with.
    void setPosition(const ComparisonStore::Position &position, std::optional<TokenId> chosen,
                     const std::shared_ptr<const Tokenizer> &tokenizer);
    /// Instead of a comparison.
    void setExplanation(const QString &text);
    const DifferencePlot *plot() const { return m_plot; }

protected:
    bool eventFilter(QObject *watched, QEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;

private:
    enum Fact { KlFact, KlBackFact, DifferenceFact, ArgmaxFact, OverlapFact, FactCount };
    void addFact(QGridLayout &grid, Fact fact, const QString &title, const QString &tip);
    void showFacts(const PositionComparison &position, const Tokenizer *tokenizer);
    void layOutParts();
    void layOutColumns();

    QStackedLayout *m_stack = nullptr;
    QLabel *m_explanation = nullptr;
    QBoxLayout *m_parts = nullptr; ///< side by side, or below each other where it is narrow
    QWidget *m_side = nullptr;
    CellTable *m_table = nullptr;
    ComparedCandidateModel *m_model = nullptr;
    TokenCellDelegate *m_delegate = nullptr;
    ElidedLabel *m_facts[FactCount] = {};
    DifferencePlot *m_plot = nullptr;
    ComparisonStore::Position m_shown;
};

} // namespace tokenloupe
