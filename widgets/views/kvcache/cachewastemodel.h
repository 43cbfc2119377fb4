// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/figuretablemodel.h"
#include "widgets/views/kvcache/cachewaste.h"

namespace tokenloupe {

/// The account of a cache as a table: what, how much, which share, of what.
class CacheWasteModel : public FigureTableModel
{
    Q_OBJECT

public:
    enum Column { NameColumn, AmountColumn, ShareColumn, WholeColumn };

    using FigureTableModel::FigureTableModel;

    /// Rows with the same names change in place, so that a table keeps its place while a run goes on.
    void setRows(std::vector<WasteRow> rows);
    const std::vector<WasteRow> &rows() const { return m_rows; }

    int rowCount(const QModelIndex &parent = {}) const override;

protected:
    QStringList titles() const override;
    QVariant cell(const QModelIndex &index, int role) const override;
    bool isText(int column) const override;

private:
    std::vector<WasteRow> m_rows;
};

} // namespace tokenloupe
