// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/fittablemodel.h"

#include "widgets/theme/numbers.h"

#include <QCoreApplication>
#include <algorithm>

namespace tokenloupe {

namespace {

constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;
constexpr std::uint64_t leastInGibibytes = std::uint64_t(2) << 30; // below, tables are read in MiB

} // namespace

QString weightTypeTitle(const std::string &type, const ModelShape *shape)
{
    if (type != "stored")
        return QString::fromStdString(type);
    const auto tr = [](const char *text) {
        return QCoreApplication::translate("tokenloupe::FitTableModel", text);
    };
    if (!shape)
        return tr("as stored");
    return shape->storedBytes() > 0 ? tr("as stored (%1)").arg(QString::fromStdString(shape->storedType))
                                    : tr("F16 (no file)");
}

void FitTableModel::setResult(EstimatorResultPtr result)
{
    // The same types and contexts: the view keeps its place and its current cell.
    const bool same = m_result && result && !result->fits.cells.empty() &&
                      m_result->fits.weightTypes == result->fits.weightTypes &&
                      m_result->fits.contexts == result->fits.contexts;
    if (!same)
        beginResetModel();
    m_result = std::move(result);
    std::uint64_t largest = 0;
    if (m_result)
        for (const std::vector<FitCell> &row : m_result->fits.cells)
            for (const FitCell &cell : row)
                largest = std::max(largest, cell.bytes);
    m_inGibibytes = largest >= leastInGibibytes;
    if (same) {
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
        Q_EMIT headerDataChanged(Qt::Vertical, 0, rowCount() - 1);
    } else {
        endResetModel();
    }
}

QString FitTableModel::unit() const
{
    return m_inGibibytes ? QStringLiteral("GiB") : QStringLiteral("MiB");
}

QModelIndex FitTableModel::currentCell() const
{
    for (int row = 0; row < rowCount(); ++row)
        for (int column = 0; column < columnCount(); ++column)
            if (data(index(row, column), CurrentRole).toBool())
                return index(row, column);
    return {};
}

int FitTableModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() || !m_result ? 0 : static_cast<int>(m_result->fits.cells.size());
}

int FitTableModel::columnCount(const QModelIndex &parent) const
{
    return parent.isValid() || !m_result ? 0 : static_cast<int>(m_result->fits.contexts.size());
}

QVariant FitTableModel::data(const QModelIndex &index, int role) const
{
    if (!index.isValid())
        return {};
    const FitTable &table = m_result->fits;
    const std::string &type = table.weightTypes[static_cast<std::size_t>(index.row())];
    const auto column = static_cast<std::size_t>(index.column());
    const std::uint64_t context = table.contexts[column];
    const FitCell &cell = table.cells[static_cast<std::size_t>(index.row())][column];
    switch (role) {
    case Qt::DisplayRole:
        return m_inGibibytes ? formatSignificant(static_cast<double>(cell.bytes) / gibibyte, 3)
                             : formatMebibytes(cell.bytes);
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole:
        return (cell.fits ? tr("%1, %2 tokens: %3, fits") : tr("%1, %2 tokens: %3, does not fit"))
            .arg(weightTypeTitle(type, m_result->request.shape.get()), formatCount(context),
                 formatBytes(cell.bytes));
    case Qt::TextAlignmentRole:
        return QVariant::fromValue(Qt::Alignment(Qt::AlignRight | Qt::AlignVCenter));
    case FitsRole:
        return cell.fits;
    case CurrentRole:
        return type == m_result->request.weightType && context == m_result->request.contextTokens;
    case ContextRole:
        return qulonglong(context);
    case WeightTypeRole:
        return QString::fromStdString(type);
    default:
        return {};
    }
}

QVariant FitTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    const bool isContext = orientation == Qt::Horizontal;
    if (section < 0 || section >= (isContext ? columnCount() : rowCount()))
        return {};
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(
            Qt::Alignment((isContext ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter));
    if (role != Qt::DisplayRole)
        return {};
    const FitTable &table = m_result->fits;
    if (isContext)
        return formatCount(table.contexts[static_cast<std::size_t>(section)]);
    return weightTypeTitle(table.weightTypes[static_cast<std::size_t>(section)],
                           m_result->request.shape.get());
}

} // namespace tokenloupe
