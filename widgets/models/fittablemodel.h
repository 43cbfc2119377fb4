// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/estimatorresult.h"

#include <QAbstractTableModel>

namespace tokenloupe {

/// Weight types (rows) by contexts (columns): what each takes, in one unit for the whole table, and whether
/// it fits.
class FitTableModel : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Role {
        FitsRole = Qt::UserRole, ///< bool
        CurrentRole,             ///< bool: the cell of the present inputs
        ContextRole,             ///< qulonglong
        WeightTypeRole,          ///< QString, as the engine names it
    };

    using QAbstractTableModel::QAbstractTableModel;

    void setResult(EstimatorResultPtr result);
    QModelIndex currentCell() const; ///< of the present inputs; invalid: not in the table
    QString unit() const;            ///< of the cells: "GiB", "MiB"

    int rowCount(const QModelIndex &parent = {}) const override;
    int columnCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    EstimatorResultPtr m_result;
    bool m_inGibibytes = true;
};

/// A weight type for people: what the engine calls "stored" is put in words.
QString weightTypeTitle(const std::string &type, const ModelShape *shape);

} // namespace tokenloupe
