// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/cachewastemodel.h"

#include "widgets/theme/numbers.h"

#include <algorithm>

namespace tokenloupe {

void CacheWasteModel::setRows(std::vector<WasteRow> rows)
{
    const bool same = std::equal(rows.begin(), rows.end(), m_rows.begin(), m_rows.end(),
                                 [](const WasteRow &a, const WasteRow &b) { return a.name == b.name; });
    replace(same ? Rows::Same : Rows::Others, [&] { m_rows = std::move(rows); });
}

int CacheWasteModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

QStringList CacheWasteModel::titles() const
{
    return {tr("what"), tr("amount"), tr("%"), tr("share")};
}

bool CacheWasteModel::isText(int column) const
{
    return column == NameColumn || column == WholeColumn;
}

QVariant CacheWasteModel::cell(const QModelIndex &index, int role) const
{
    const WasteRow &row = m_rows[std::size_t(index.row())];
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

} // namespace tokenloupe
