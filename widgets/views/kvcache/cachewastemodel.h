// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/views/kvcache/cachewaste.h"

#include <QAbstractTableModel>

namespace tokenloupe {

/// The account of a cache as a table: what, how much, which share, of what.
class CacheWasteModel : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { NameColumn, AmountColumn, ShareColumn, WholeColumn, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    /// Rows with the same names change in place, so that a table keeps its place while a run goes on.
    void setRows(std::vector<WasteRow> rows);
    const std::vector<WasteRow> &rows() const { return m_rows; }

    int rowCount(const QModelIndex &parent = {}) const override;
    int columnCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<WasteRow> m_rows;
};

} // namespace tokenloupe
