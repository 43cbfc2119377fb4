// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/loadedmodel.h"
#include "widgets/models/explanationservice.h"

#include <QAbstractTableModel>

namespace tokenloupe {

/// The top candidates of an explained step: rank, token, raw logit, raw probability, and one column for each
/// active stage. Removed candidates stay; the cell of the stage that removed them names it.
class CandidateModel : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { RankColumn, TokenColumn, LogitColumn, RawColumn, FirstStageColumn };
    enum Role {
        ProbabilityRole = Qt::UserRole, ///< double; invalid where the candidate is not alive any more
        RemoverRole,                    ///< QString, in the cell of the stage that removed it
        FamilyRole,                     ///< int of StageFamily; also for header sections
        TokenIdRole,                    ///< uint
        ChosenRole,                     ///< bool: the token that the run took
        DrawnRole,                      ///< bool: what these settings draw
        RemovedRole,                    ///< bool: did not survive to the draw
    };

    using QAbstractTableModel::QAbstractTableModel;

    void setExplanation(ExplanationPtr explanation, std::shared_ptr<const LoadedModel> model);
    const ExplanationPtr &explanation() const { return m_explanation; }
    const Tokenizer *tokenizer() const { return m_model ? m_model->tokenizer.get() : nullptr; }
    /// The largest probability of any cell: what all bars are relative to.
    double largestProbability() const { return m_largest; }

    int rowCount(const QModelIndex &parent = {}) const override;
    int columnCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    const ExplainedCandidate &candidate(int row) const { return m_explanation->candidates[std::size_t(row)]; }
    QVariant display(const QModelIndex &index) const;
    /// After the stage of a column (RawColumn: before all).
    double probability(int row, int column) const;
    bool aliveIn(int row, int column) const;

    ExplanationPtr m_explanation;
    std::shared_ptr<const LoadedModel> m_model;
    double m_largest = 0.0;
};

} // namespace tokenloupe
