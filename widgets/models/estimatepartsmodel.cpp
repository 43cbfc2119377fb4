// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/estimatepartsmodel.h"

#include "widgets/theme/numbers.h"

namespace tokenloupe {

namespace {

int rowsOf(const EstimatorResultPtr &result)
{
    return result && result->estimate ? static_cast<int>(result->estimate->parts.size()) : 0;
}

QString howOf(const EstimatePart &part)
{
    QString text = QString::fromStdString(part.how);
    for (const auto &[name, bytes] : part.detail)
        text += (text.isEmpty() ? QString() : QStringLiteral("\n")) + QString::fromStdString(name) +
                QStringLiteral(": ") + formatBytes(bytes);
    return text;
}

} // namespace

void EstimatePartsModel::setResult(EstimatorResultPtr result)
{
    replace(rowsOf(result) == rowsOf(m_result) ? Rows::Same : Rows::Others,
            [&] { m_result = std::move(result); });
}

int EstimatePartsModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : rowsOf(m_result);
}

QStringList EstimatePartsModel::titles() const
{
    return {tr("part"), tr("memory"), tr("% of sum")};
}

QVariant EstimatePartsModel::cell(const QModelIndex &index, int role) const
{
    const Estimate &estimate = *m_result->estimate;
    const EstimatePart &part = estimate.parts[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        switch (index.column()) {
        case NameColumn:
            return QString::fromStdString(part.title);
        case BytesColumn:
            return formatBytes(part.bytes);
        case ShareColumn:
            return estimate.totalBytes == 0 ? QString()
                                            : formatPercent(static_cast<double>(part.bytes) /
                                                            static_cast<double>(estimate.totalBytes));
        default:
            return {};
        }
    case Qt::ToolTipRole:
    case HowRole:
        return howOf(part);
    case ValueRole:
        return qulonglong(part.bytes);
    case ColorRole:
        return index.column() == NameColumn ? QVariant(index.row()) : QVariant();
    default:
        return {};
    }
}

} // namespace tokenloupe
