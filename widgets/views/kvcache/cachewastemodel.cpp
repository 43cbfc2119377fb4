// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/cachewastemodel.h"

#include "widgets/theme/numbers.h"

#include <algorithm>

namespace tokenloupe {

namespace {

bool isNumber(int column)
{
    return column == CacheWasteModel::AmountColumn || column == CacheWasteModel::ShareColumn;
}

} // namespace

void CacheWasteModel::setRows(std::vector<WasteRow> rows)
{
    const bool same = std::equal(rows.begin(), rows.end(), m_rows.begin(), m_rows.end(),
                                 [](const WasteRow &a, const WasteRow &b) { return a.name == b.name; });
    if (same && !rows.empty()) {
        m_rows = std::move(rows);
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
        return;
    }
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

int CacheWasteModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int CacheWasteModel::columnCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : int(ColumnCount);
}

QVariant CacheWasteModel::data(const QModelIndex &index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const WasteRow &row = m_rows[std::size_t(index.row())];
    if (role == Qt::TextAlignmentRole)
        return int((isNumber(index.column()) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    const QString share =
        std::isnan(row.share) ? QString() : formatPercent(row.share) + QStringLiteral(" % ") + row.whole;
    if (role == Qt::ToolTipRole)
        return share.isEmpty() ? row.explanation : row.explanation + QLatin1Char('\n') + share;
    if (role == Qt::AccessibleTextRole && index.column() == NameColumn)
        return share.isEmpty() ? tr("%1: %2").arg(row.name, row.amount)
                               : tr("%1: %2, %3").arg(row.name, row.amount, share);
    if (role != Qt::DisplayRole)
        return {};
    switch (index.column()) {
    case NameColumn:
        return row.name;
    case AmountColumn:
        return row.amount;
    case ShareColumn:
        return std::isnan(row.share) ? QString() : formatPercent(row.share);
    case WholeColumn:
        return std::isnan(row.share) ? QString() : row.whole;
    default:
        return {};
    }
}

QVariant CacheWasteModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return int((isNumber(section) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case NameColumn:
        return tr("what");
    case AmountColumn:
        return tr("amount");
    case ShareColumn:
        return tr("%");
    case WholeColumn:
        return tr("share");
    default:
        return {};
    }
}

} // namespace tokenloupe
