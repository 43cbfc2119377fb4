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
    show(std::move(rows), Content::Gpus);
}

void GpuListModel::setShares(const std::vector<DeviceShare> &shares)
{
    show(shares, Content::Shares);
}

void GpuListModel::show(std::vector<DeviceShare> rows, Content content)
{
    replace(content == m_content && rows.size() == m_rows.size() ? Rows::Same : Rows::Others, [&] {
        m_rows = std::move(rows);
        m_content = content;
    });
}

int GpuListModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

QStringList GpuListModel::titles() const
{
    QStringList all{tr("card"), tr("memory"), tr("bandwidth"), tr("layers"), tr("placed"), tr("verdict")};
    return m_content == Content::Shares ? all : all.mid(0, BandwidthColumn + 1);
}

QVariant GpuListModel::cell(const QModelIndex &index, int role) const
{
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
    case FitsRole:
        return index.column() == FitsColumn ? QVariant(row.fits) : QVariant();
    default:
        return {};
    }
}

} // namespace tokenloupe
