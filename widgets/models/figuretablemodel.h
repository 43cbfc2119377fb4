// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>
#include <QStringList>

namespace tokenloupe {

/// A table of named figures: names on the left, numbers on the right, column titles that say what they are.
/// Models say their titles and what a cell holds.
class FigureTableModel : public QAbstractTableModel
{
    Q_OBJECT

public:
    using QAbstractTableModel::QAbstractTableModel;

    int columnCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

protected:
    virtual QStringList titles() const = 0; ///< one a column
    virtual QVariant cell(const QModelIndex &index, int role) const = 0;
    virtual bool isText(int column) const { return column == 0; }

    enum class Rows { Same, Others };
    /// Runs `change`. While only numbers change (Rows::Same) a selected row stays selected.
    template <class Change>
    void replace(Rows rows, const Change &change)
    {
        const bool inPlace = rows == Rows::Same && rowCount() > 0;
        if (!inPlace)
            beginResetModel();
        change();
        if (inPlace)
            Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
        else
            endResetModel();
    }

private:
    QVariant alignment(int column) const;
};

} // namespace tokenloupe
