// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/estimatorresult.h"
#include "widgets/models/figuretablemodel.h"

namespace tokenloupe {

/// The parts of an estimate: what, bytes, share of the sum; the arithmetic behind each as a role.
class EstimatePartsModel : public FigureTableModel
{
    Q_OBJECT

public:
    enum Column { NameColumn, BytesColumn, ShareColumn };
    enum Role {
        HowRole = Qt::UserRole, ///< QString: arithmetic, and below it the detail, one a line
        ValueRole,              ///< qulonglong bytes
        ColorRole,              ///< int, in the first column: index of the part's colour in the bar
    };

    using FigureTableModel::FigureTableModel;

    void setResult(EstimatorResultPtr result);

    int rowCount(const QModelIndex &parent = {}) const override;

protected:
    QStringList titles() const override;
    QVariant cell(const QModelIndex &index, int role) const override;

private:
    EstimatorResultPtr m_result;
};

} // namespace tokenloupe
