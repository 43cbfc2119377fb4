// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/penaltymodel.h"

namespace tokenloupe {

void PenaltyModel::setExplanation(ExplanationPtr explanation, std::shared_ptr<const LoadedModel> model)
{
    beginResetModel();
    m_explanation = std::move(explanation);
    m_model = std::move(model);
    endResetModel();
}

int PenaltyModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() || !m_explanation ? 0 : static_cast<int>(m_explanation->penalties.size());
}

int PenaltyModel::columnCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : int(ColumnCount);
}

QVariant PenaltyModel::data(const QModelIndex &index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const ExplainedPenalty &row = m_explanation->penalties[std::size_t(index.row())];
    if (role == TokenIdRole)
        return row.id.value();
    if (role == ChosenRole)
        return row.id == m_explanation->chosen;
    if (role == Qt::TextAlignmentRole)
        return int((index.column() == TokenColumn ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (role != Qt::DisplayRole)
        return {};
    switch (index.column()) {
    case TokenColumn:
        return tokenizer() ? QString::fromUtf8(tokenizer()->bytes(row.id).data(),
                                               static_cast<qsizetype>(tokenizer()->bytes(row.id).size()))
                           : QString::number(row.id.value());
    case CountColumn:
        return row.count;
    case BeforeColumn:
        return QString::number(double(row.logitBefore), 'f', 2);
    case AfterColumn:
        return QString::number(double(row.logitAfter), 'f', 2);
    case ChangeColumn: {
        // Percentage points.
        const double change = (row.pAfter - row.pBefore) * 100.0;
        const QString number = QString::number(std::abs(change), 'f', 2);
        if (number == QLatin1String("0.00"))
            return number;
        return QString((change < 0 ? QStringLiteral("−") : QStringLiteral("+")) + number);
    }
    default:
        return {};
    }
}

QVariant PenaltyModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return int((section == TokenColumn ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (role == Qt::ToolTipRole && section == ChangeColumn)
        return tr("change of probability, in percentage points");
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case TokenColumn:
        return tr("token");
    case CountColumn:
        return tr("count");
    case BeforeColumn:
        return tr("logit");
    case AfterColumn:
        return tr("after");
    case ChangeColumn:
        return tr("Δ p %");
    default:
        return {};
    }
}

} // namespace tokenloupe
