// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/gpulistmodel.h"

#include "widgets/theme/numbers.h"

namespace tokenloupe {

QString formatBandwidth(double bytesPerSecond)
{
    return formatRate(bytesPerSecond / 1e9, QStringLiteral("GB/s"));
}

QString formatFlops(double perSecond)
{
    return perSecond < 1e12 ? formatRate(perSecond / 1e9, QStringLiteral("GFLOP/s"))
                            : formatRate(perSecond / 1e12, QStringLiteral("TFLOP/s"));
}

void GpuListModel::setGpus(const std::vector<Gpu> &gpus)
{
    std::vector<DeviceShare> rows;
    for (const Gpu &gpu : gpus)
        rows.push_back({gpu});
    replace(std::move(rows), Content::Gpus);
}

void GpuListModel::setShares(const std::vector<DeviceShare> &shares)
{
    replace(shares, Content::Shares);
}

void GpuListModel::replace(std::vector<DeviceShare> rows, Content content)
{
    const bool sameShape = content == m_content && rows.size() == m_rows.size() && !rows.empty();
    if (!sameShape)
        beginResetModel();
    m_rows = std::move(rows);
    m_content = content;
    if (sameShape)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    else
        endResetModel();
}

int GpuListModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int GpuListModel::columnCount(const QModelIndex &parent) const
{
    if (parent.isValid())
        return 0;
    return m_content == Content::Shares ? FitsColumn + 1 : BandwidthColumn + 1;
}

QVariant GpuListModel::data(const QModelIndex &index, int role) const
{
    if (!index.isValid())
        return {};
    const DeviceShare &row = m_rows[static_cast<std::size_t>(index.row())];
    const Gpu &gpu = row.gpu;
    switch (role) {
    case Qt::DisplayRole:
        switch (index.column()) {
        case NameColumn:
            return QString::fromStdString(gpu.name);
        case MemoryColumn:
            return formatBytes(gpu.memoryBytes);
        case BandwidthColumn:
            return formatBandwidth(gpu.bandwidth);
        case LayersColumn:
            return formatCount(row.layers);
        case BytesColumn:
            return formatBytes(row.bytes);
        case FitsColumn:
            return row.fits ? tr("fits") : tr("too much");
        default:
            return {};
        }
    case Qt::ToolTipRole: {
        QStringList parts{QString::fromStdString(gpu.maker + (gpu.maker.empty() ? "" : " ") + gpu.name),
                          formatBytes(gpu.memoryBytes), formatBandwidth(gpu.bandwidth),
                          formatFlops(gpu.halfFlops)};
        if (gpu.isShared)
            parts << tr("memory shared with the system");
        if (gpu.year > 0)
            parts << QString::number(gpu.year);
        return parts.join(QStringLiteral(" · "));
    }
    case Qt::TextAlignmentRole:
        return QVariant::fromValue(Qt::Alignment(
            (index.column() == NameColumn ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter));
    case FitsRole:
        return index.column() == FitsColumn ? QVariant(row.fits) : QVariant();
    default:
        return {};
    }
}

QVariant GpuListModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(
            Qt::Alignment((section == NameColumn ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter));
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case NameColumn:
        return tr("card");
    case MemoryColumn:
        return tr("memory");
    case BandwidthColumn:
        return tr("bandwidth");
    case LayersColumn:
        return tr("layers");
    case BytesColumn:
        return tr("placed");
    case FitsColumn:
        return tr("verdict");
    default:
        return {};
    }
}

} // namespace tokenloupe
