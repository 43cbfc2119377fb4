// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/attentionmodel.h"

#include "widgets/theme/numbers.h"

namespace tokenloupe {

void AttentionModel::setVariants(std::vector<AttentionVariant> variants)
{
    replace(variants.size() == m_variants.size() ? Rows::Same : Rows::Others,
            [&] { m_variants = std::move(variants); });
}

int AttentionModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_variants.size());
}

QStringList AttentionModel::titles() const
{
    return {tr("attention"), tr("a token"), tr("to multi-head")};
}

QVariant AttentionModel::cell(const QModelIndex &index, int role) const
{
    const AttentionVariant &variant = m_variants[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        switch (index.column()) {
        case NameColumn:
            return variant.isOwn ? tr("%1 (this model)").arg(QString::fromStdString(variant.name))
                                 : QString::fromStdString(variant.name);
        case BytesColumn:
            return formatBytes(variant.bytesPerToken);
        case RatioColumn:
            return formatTimes(variant.ratio);
        default:
            return {};
        }
    case Qt::ToolTipRole:
    case HowRole:
        return QString::fromStdString(variant.how);
    case OwnRole:
        return variant.isOwn;
    default:
        return {};
    }
}

} // namespace tokenloupe
