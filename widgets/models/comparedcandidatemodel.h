// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/comparisonstore.h"
#include "widgets/models/figuretablemodel.h"

#include <memory>
#include <optional>

namespace tokenloupe {

/// The first candidates of either precision at one position: logits, probabilities and ranks side by side.
class ComparedCandidateModel : public FigureTableModel
{
    Q_OBJECT

public:
    enum Column {
        TokenColumn,
        ExactLogitColumn,
        FastLogitColumn,
        DifferenceColumn,
        ExactPColumn,
        FastPColumn,
        ExactRankColumn,
        FastRankColumn,
    };
    enum Role { TokenIdRole = Qt::UserRole, ChosenRole };

    using FigureTableModel::FigureTableModel;

    /// `chosen`: the token that the text goes on with.
    void setPosition(ComparisonStore::Position position, std::optional<TokenId> chosen,
                     std::shared_ptr<const Tokenizer> tokenizer);

    int rowCount(const QModelIndex &parent = {}) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

protected:
    QStringList titles() const override;
    QVariant cell(const QModelIndex &index, int role) const override;

private:
    QString display(const ComparedCandidate &candidate, int column) const;

    ComparisonStore::Position m_position;
    std::optional<TokenId> m_chosen;
    std::shared_ptr<const Tokenizer> m_tokenizer;
};

} // namespace tokenloupe
