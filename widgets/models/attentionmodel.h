// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/estimate.h"

#include <QAbstractTableModel>
#include <vector>

namespace tokenloupe {

/// What a token costs in the cache under the kinds of attention; the shape's own one is marked.
class AttentionModel : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { NameColumn, BytesColumn, RatioColumn, ColumnCount };
    enum Role {
        HowRole = Qt::UserRole, ///< QString: the arithmetic
        OwnRole,                ///< bool: what the shape uses
    };

    using QAbstractTableModel::QAbstractTableModel;

    void setVariants(std::vector<AttentionVariant> variants);

    int rowCount(const QModelIndex &parent = {}) const override;
    int columnCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    std::vector<AttentionVariant> m_variants;
};

} // namespace tokenloupe
