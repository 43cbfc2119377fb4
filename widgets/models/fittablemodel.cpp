// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/fittablemodel.h"

#include "widgets/theme/numbers.h"

#include <QCoreApplication>
#include <algorithm>

namespace tokenloupe {

QString weightTypeTitle(const std::string &type, const ModelShape *shape)
{
    if (type != "stored")
        return QString::fromStdString(type);
    const QString stored = shape ? QString::fromStdString(shape->storedType) : QString();
    return stored.isEmpty()
               ? QCoreApplication::translate("tokenloupe::FitTableModel", "as stored")
               : QCoreApplication::translate("tokenloupe::FitTableModel", "as stored (%1)").arg(stored);
}

void FitTableModel::setResult(EstimatorResultPtr result)
{
    // The same types and contexts: the view keeps its place and its current cell.
    const bool same = m_result && result && !result->fits.cells.empty() &&
                      m_result->fits.weightTypes == result->fits.weightTypes &&
                      m_result->fits.contexts == result->fits.contexts;
    if (!same)
        beginResetModel();
    m_result = std::move(result);
    if (same)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    else
        endResetModel();
}

QModelIndex FitTableModel::currentCell() const
{
    for (int row = 0; row < rowCount(); ++row)
        for (int column = 1; column < columnCount(); ++column)
            if (data(index(row, column), CurrentRole).toBool())
                return index(row, column);
    return {};
}

int FitTableModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() || !m_result ? 0 : static_cast<int>(m_result->fits.cells.size());
}

int FitTableModel::columnCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : 1 + (m_result ? static_cast<int>(m_result->fits.contexts.size()) : 0);
}

QVariant FitTableModel::data(const QModelIndex &index, int role) const
{
    if (!index.isValid())
        return {};
    const FitTable &table = m_result->fits;
    const EstimateRequest &request = m_result->request;
    const std::string &type = table.weightTypes[static_cast<std::size_t>(index.row())];
    const QString title = weightTypeTitle(type, request.shape.get());
    if (role == WeightTypeRole)
        return QString::fromStdString(type);
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(
            Qt::Alignment((index.column() == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter));
    // a shape without a file is counted as F16 when nothing else is asked for
    const bool isCurrentType =
        type == request.weightType ||
        (request.weightType == "stored" && request.shape->storedBytes() == 0 && type == "F16");
    if (index.column() == 0) {
        if (role == Qt::DisplayRole)
            return title;
        return role == CurrentRole ? QVariant(isCurrentType) : QVariant();
    }
    const auto column = static_cast<std::size_t>(index.column() - 1);
    const std::uint64_t context = table.contexts[column];
    const FitCell &cell = table.cells[static_cast<std::size_t>(index.row())][column];
    switch (role) {
    case Qt::DisplayRole:
        return formatBytes(cell.bytes);
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole:
        return (cell.fits ? tr("%1, %2 tokens: %3, fits") : tr("%1, %2 tokens: %3, does not fit"))
            .arg(title, formatCount(context), formatBytes(cell.bytes));
    case FitsRole:
        return cell.fits;
    case CurrentRole:
        return isCurrentType && context == request.contextTokens;
    case ContextRole:
        return qulonglong(context);
    default:
        return {};
    }
}

QVariant FitTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount())
        return {};
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(
            Qt::Alignment((section == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter));
    if (role != Qt::DisplayRole)
        return {};
    if (section == 0)
        return tr("weights");
    return formatCount(m_result->fits.contexts[static_cast<std::size_t>(section - 1)]);
}

} // namespace tokenloupe
