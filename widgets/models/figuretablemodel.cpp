// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/figuretablemodel.h"

namespace tokenloupe {

int FigureTableModel::columnCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(titles().size());
}

QVariant FigureTableModel::alignment(int column) const
{
    return QVariant::fromValue(
        Qt::Alignment((isText(column) ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter));
}

QVariant FigureTableModel::data(const QModelIndex &index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    return role == Qt::TextAlignmentRole ? alignment(index.column()) : cell(index, role);
}

QVariant FigureTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount())
        return {};
    if (role == Qt::TextAlignmentRole)
        return alignment(section);
    return role == Qt::DisplayRole ? QVariant(titles().at(section)) : QVariant();
}

} // namespace tokenloupe
