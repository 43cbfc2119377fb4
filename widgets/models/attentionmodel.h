// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/estimate.h"
#include "widgets/models/figuretablemodel.h"

#include <vector>

namespace tokenloupe {

/// What a token costs in the cache under the kinds of attention; the shape's own one is marked.
class AttentionModel : public FigureTableModel
{
    Q_OBJECT

public:
    enum Column { NameColumn, BytesColumn, RatioColumn };
    enum Role {
        HowRole = Qt::UserRole, ///< QString: the arithmetic
        OwnRole,                ///< bool: what the shape uses
    };

    using FigureTableModel::FigureTableModel;

    void setVariants(std::vector<AttentionVariant> variants);

    int rowCount(const QModelIndex &parent = {}) const override;

protected:
    QStringList titles() const override;
    QVariant cell(const QModelIndex &index, int role) const override;

private:
    std::vector<AttentionVariant> m_variants;
};

} // namespace tokenloupe
