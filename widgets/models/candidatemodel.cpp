// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/candidatemodel.h"

#include <algorithm>

namespace tokenloupe {

void CandidateModel::setExplanation(ExplanationPtr explanation, std::shared_ptr<const LoadedModel> model)
{
    const auto columns = [](const ExplanationPtr &e) { return e ? e->stages.size() : 0; };
    const auto rows = [](const ExplanationPtr &e) { return e ? e->candidates.size() : 0; };
    const bool sameShape = m_explanation && explanation && columns(m_explanation) == columns(explanation) &&
                           rows(m_explanation) == rows(explanation) && rows(explanation) > 0;
    // While tokens come the shape hardly ever changes: then the view keeps its place.
    if (!sameShape)
        beginResetModel();
    m_explanation = std::move(explanation);
    m_model = std::move(model);
    m_largest = 0.0;
    for (int row = 0; row < rowCount(); ++row) {
        for (int column = RawColumn; column < columnCount(); ++column) {
            if (aliveIn(row, column))
                m_largest = std::max(m_largest, probability(row, column));
        }
    }
    if (!sameShape) {
        endResetModel();
    } else {
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
        Q_EMIT headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
    }
}

int CandidateModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() || !m_explanation ? 0 : static_cast<int>(m_explanation->candidates.size());
}

int CandidateModel::columnCount(const QModelIndex &parent) const
{
    return parent.isValid()
               ? 0
               : FirstStageColumn + (m_explanation ? static_cast<int>(m_explanation->stages.size()) : 0);
}

double CandidateModel::probability(int row, int column) const
{
    return column == RawColumn ? candidate(row).pRaw
                               : candidate(row).pStage[std::size_t(column - FirstStageColumn)];
}

bool CandidateModel::aliveIn(int row, int column) const
{
    const std::int32_t remover = candidate(row).removedBy;
    return column == RawColumn || remover < 0 || column - FirstStageColumn < remover;
}

QVariant CandidateModel::display(const QModelIndex &index) const
{
    const ExplainedCandidate &row = candidate(index.row());
    switch (index.column()) {
    case RankColumn:
        return row.rank + 1;
    case TokenColumn:
        return tokenizer() ? QString::fromUtf8(tokenizer()->bytes(row.id).data(),
                                               static_cast<qsizetype>(tokenizer()->bytes(row.id).size()))
                           : QString::number(row.id.value());
    case LogitColumn:
        return QString::number(double(row.logit), 'f', 2);
    default:
        if (aliveIn(index.row(), index.column()))
            return QString::number(probability(index.row(), index.column()) * 100.0, 'f', 1);
        return index.data(RemoverRole);
    }
}

QVariant CandidateModel::data(const QModelIndex &index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const ExplainedCandidate &row = candidate(index.row());
    const bool isStage = index.column() >= RawColumn;
    switch (role) {
    case Qt::DisplayRole:
        return display(index);
    case Qt::TextAlignmentRole:
        return int((index.column() == TokenColumn || isStage ? Qt::AlignLeft : Qt::AlignRight) |
                   Qt::AlignVCenter);
    case ProbabilityRole:
        return isStage && aliveIn(index.row(), index.column())
                   ? QVariant(probability(index.row(), index.column()))
                   : QVariant();
    case RemoverRole:
        if (isStage && row.removedBy >= 0 && index.column() - FirstStageColumn == row.removedBy)
            return QString::fromStdString(m_explanation->stages[std::size_t(row.removedBy)].name)
                .replace(QLatin1Char('_'), QLatin1Char('-'));
        return {};
    case FamilyRole:
        return headerData(index.column(), Qt::Horizontal, FamilyRole);
    case TokenIdRole:
        return row.id.value();
    case ChosenRole:
        return row.id == m_explanation->chosen;
    case DrawnRole:
        return row.id == m_explanation->draw.token;
    case RemovedRole:
        return row.removedBy >= 0;
    case Qt::AccessibleTextRole:
        return QString(headerData(index.column(), Qt::Horizontal, Qt::DisplayRole).toString() +
                       QStringLiteral(": ") + display(index).toString());
    default:
        return {};
    }
}

QVariant CandidateModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount())
        return {};
    const bool isStage = section >= FirstStageColumn;
    if (role == FamilyRole) {
        const StageFamily family =
            isStage
                ? stageFamily(m_explanation->stages[std::size_t(section - FirstStageColumn)].settings.kind())
                : StageFamily::Raw;
        return static_cast<int>(family);
    }
    if (role == Qt::TextAlignmentRole)
        return int((section == RankColumn || section == LogitColumn ? Qt::AlignRight : Qt::AlignLeft) |
                   Qt::AlignVCenter);
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case RankColumn:
        return QStringLiteral("#");
    case TokenColumn:
        return tr("token");
    case LogitColumn:
        return tr("logit");
    case RawColumn:
        return tr("raw");
    default:
        return QString::fromStdString(m_explanation->stages[std::size_t(section - FirstStageColumn)].label);
    }
}

} // namespace tokenloupe
