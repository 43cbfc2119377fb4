// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/estimatorresult.h"

#include <QAbstractTableModel>

namespace tokenloupe {

/// Common simplified formulas beside the right numbers: name, what it says, what is right, how far off.
class TextbookModel : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { NameColumn, SaysColumn, RightColumn, RatioColumn, ColumnCount };
    enum Role {
        HowRole = Qt::UserRole, ///< QString: the formula, and below it why it differs
        OffRole,                ///< bool, in RatioColumn: more than a hundredth off
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
