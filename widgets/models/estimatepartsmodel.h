// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/estimatorresult.h"

#include <QAbstractTableModel>

namespace tokenloupe {

/// The parts of an estimate: what, bytes, share of the sum; the arithmetic behind each as a role.
class EstimatePartsModel : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { NameColumn, BytesColumn, ShareColumn, ColumnCount };
    enum Role {
        HowRole = Qt::UserRole, ///< QString: arithmetic, and below it the detail, one a line
        ValueRole,              ///< qulonglong bytes
        ColorRole,              ///< int, in the first column: index of the part's colour in the bar
    };

    using QAbstractTableModel::QAbstractTableModel;

    void setResult(EstimatorResultPtr result);

    int rowCount(const QModelIndex &parent = {}) const override;
    int columnCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    EstimatorResultPtr m_result;
};

} // namespace tokenloupe
