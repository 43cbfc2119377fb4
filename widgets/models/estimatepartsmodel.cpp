// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/estimatepartsmodel.h"

#include "widgets/theme/numbers.h"

namespace tokenloupe {

namespace {

int rowsOf(const EstimatorResultPtr &result)
{
    return result && result->estimate ? static_cast<int>(result->estimate->parts.size()) : 0;
}

QString howOf(const EstimatePart &part)
{
    QString text = QString::fromStdString(part.how);
    for (const auto &[name, bytes] : part.detail)
        text += (text.isEmpty() ? QString() : QStringLiteral("\n")) + QString::fromStdString(name) +
                QStringLiteral(": ") + formatBytes(bytes);
    return text;
}

} // namespace

void EstimatePartsModel::setResult(EstimatorResultPtr result)
{
    // While someone types only numbers change: the selected row stays selected.
    const bool sameRows = rowsOf(result) == rowsOf(m_result) && rowsOf(result) > 0;
    if (!sameRows)
        beginResetModel();
    m_result = std::move(result);
    if (sameRows)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
    else
        endResetModel();
}

int EstimatePartsModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : rowsOf(m_result);
}

int EstimatePartsModel::columnCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : int(ColumnCount);
}

QVariant EstimatePartsModel::data(const QModelIndex &index, int role) const
{
    if (!index.isValid())
        return {};
    const Estimate &estimate = *m_result->estimate;
    const EstimatePart &part = estimate.parts[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        switch (index.column()) {
        case NameColumn:
            return QString::fromStdString(part.title);
        case BytesColumn:
            return formatBytes(part.bytes);
        case ShareColumn:
            return estimate.totalBytes == 0 ? QString()
                                            : formatPercent(static_cast<double>(part.bytes) /
                                                            static_cast<double>(estimate.totalBytes));
        default:
            return {};
        }
    case Qt::ToolTipRole:
    case HowRole:
        return howOf(part);
    case Qt::TextAlignmentRole:
        return QVariant::fromValue(Qt::Alignment(
            (index.column() == NameColumn ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter));
    case ValueRole:
        return qulonglong(part.bytes);
    case ColorRole:
        return index.column() == NameColumn ? QVariant(index.row()) : QVariant();
    default:
        return {};
    }
}

QVariant EstimatePartsModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(
            Qt::Alignment((section == NameColumn ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter));
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case NameColumn:
        return tr("part");
    case BytesColumn:
        return tr("memory");
    case ShareColumn:
        return tr("% of sum");
    default:
        return {};
    }
}

} // namespace tokenloupe
