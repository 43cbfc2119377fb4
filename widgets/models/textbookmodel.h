// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/estimatorresult.h"
#include "widgets/models/figuretablemodel.h"

namespace tokenloupe {

/// Common simplified formulas beside the right numbers: name, what it says, what is right, how far off.
class TextbookModel : public FigureTableModel
{
    Q_OBJECT

public:
    enum Column { NameColumn, SaysColumn, RightColumn, RatioColumn };
    enum Role {
        HowRole = Qt::UserRole, ///< QString: the formula, and below it why it differs
        OffRole,                ///< bool, in RatioColumn: more than a hundredth off
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
