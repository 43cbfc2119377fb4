// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/loadedmodel.h"
#include "widgets/models/explanationservice.h"

#include <QAbstractTableModel>

namespace tokenloupe {

/// The tokens in the penalty window of an explained step: count, logit before and after, change in
/// probability.
class PenaltyModel : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { TokenColumn, CountColumn, BeforeColumn, AfterColumn, ChangeColumn, ColumnCount };
    enum Role { TokenIdRole = Qt::UserRole, ChosenRole };

    using QAbstractTableModel::QAbstractTableModel;

    void setExplanation(ExplanationPtr explanation, std::shared_ptr<const LoadedModel> model);
    const Tokenizer *tokenizer() const { return m_model ? m_model->tokenizer.get() : nullptr; }

    int rowCount(const QModelIndex &parent = {}) const override;
    int columnCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    ExplanationPtr m_explanation;
    std::shared_ptr<const LoadedModel> m_model;
};

} // namespace tokenloupe
