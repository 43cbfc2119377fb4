// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/estimate.h"
#include "widgets/models/figuretablemodel.h"

#include <vector>

namespace tokenloupe {

QString formatBandwidth(double bytesPerSecond); ///< "1 008 GB/s", as makers state it
QString formatFlops(double perSecond);          ///< "165 TFLOP/s"

/// Cards with their memory and bandwidth; with shares also what of the model each one gets.
class GpuListModel : public FigureTableModel
{
    Q_OBJECT

public:
    enum Column { NameColumn, MemoryColumn, BandwidthColumn, LayersColumn, BytesColumn, FitsColumn };
    enum Role {
        FitsRole = Qt::UserRole, ///< bool, in FitsColumn
    };

    using FigureTableModel::FigureTableModel;

    void setGpus(const std::vector<Gpu> &gpus);             ///< name, memory, bandwidth
    void setShares(const std::vector<DeviceShare> &shares); ///< all columns

    int rowCount(const QModelIndex &parent = {}) const override;

protected:
    QStringList titles() const override;
    QVariant cell(const QModelIndex &index, int role) const override;

private:
    enum class Content { Gpus, Shares };
    void show(std::vector<DeviceShare> rows, Content content);

    std::vector<DeviceShare> m_rows;
    Content m_content = Content::Gpus;
};

} // namespace tokenloupe
