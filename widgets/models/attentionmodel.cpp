// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/attentionmodel.h"

#include "widgets/theme/numbers.h"

namespace tokenloupe {

namespace {

QVariant alignment(int column)
{
    return QVariant::fromValue(
        Qt::Alignment((column == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter));
}

QString timesText(double ratio)
{
    return QStringLiteral("× ") + formatSignificant(ratio, 3);
}

} // namespace

void AttentionModel::setVariants(std::vector<AttentionVariant> variants)
{
    const bool sameRows = variants.size() == m_variants.size() && !variants.empty();
    if (!sameRows)
        beginResetModel();
    m_variants = std::move(variants);
    if (sameRows)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
    else
        endResetModel();
}

int AttentionModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_variants.size());
}

int AttentionModel::columnCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : int(ColumnCount);
}

QVariant AttentionModel::data(const QModelIndex &index, int role) const
{
    if (!index.isValid())
        return {};
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
            return timesText(variant.ratio);
        default:
            return {};
        }
    case Qt::ToolTipRole:
    case HowRole:
        return QString::fromStdString(variant.how);
    case OwnRole:
        return variant.isOwn;
    case Qt::TextAlignmentRole:
        return alignment(index.column());
    default:
        return {};
    }
}

QVariant AttentionModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return alignment(section);
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case NameColumn:
        return tr("attention");
    case BytesColumn:
        return tr("a token");
    case RatioColumn:
        return tr("to multi-head");
    default:
        return {};
    }
}

} // namespace tokenloupe
