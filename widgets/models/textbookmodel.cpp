// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/textbookmodel.h"

#include "widgets/theme/numbers.h"

#include <cmath>

namespace tokenloupe {

namespace {

int rowsOf(const EstimatorResultPtr &result)
{
    return result && result->estimate ? static_cast<int>(result->estimate->textbook.size()) : 0;
}

double ratioOf(const TextbookFormula &formula)
{
    return formula.right == 0 ? std::nan("")
                              : static_cast<double>(formula.says) / static_cast<double>(formula.right);
}

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

void TextbookModel::setResult(EstimatorResultPtr result)
{
    const bool sameRows = rowsOf(result) == rowsOf(m_result) && rowsOf(result) > 0;
    if (!sameRows)
        beginResetModel();
    m_result = std::move(result);
    if (sameRows)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
    else
        endResetModel();
}

int TextbookModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : rowsOf(m_result);
}

int TextbookModel::columnCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : int(ColumnCount);
}

QVariant TextbookModel::data(const QModelIndex &index, int role) const
{
    if (!index.isValid())
        return {};
    const TextbookFormula &formula = m_result->estimate->textbook[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        switch (index.column()) {
        case NameColumn:
            return QString::fromStdString(formula.name);
        case SaysColumn:
            return formatBytes(formula.says);
        case RightColumn:
            return formatBytes(formula.right);
        case RatioColumn:
            return timesText(ratioOf(formula));
        default:
            return {};
        }
    case Qt::ToolTipRole: // the name too: narrow columns cut it
        return QString(QString::fromStdString(formula.name) + QLatin1Char('\n') +
                       QString::fromStdString(formula.formula) + QLatin1Char('\n') +
                       QString::fromStdString(formula.reason));
    case HowRole:
        return QString(QString::fromStdString(formula.formula) + QLatin1Char('\n') +
                       QString::fromStdString(formula.reason));
    case OffRole: {
        const double ratio = ratioOf(formula);
        return index.column() == RatioColumn ? QVariant(!(std::abs(ratio - 1.0) <= 0.01)) : QVariant();
    }
    case Qt::TextAlignmentRole:
        return alignment(index.column());
    default:
        return {};
    }
}

QVariant TextbookModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return alignment(section);
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case NameColumn:
        return tr("formula");
    case SaysColumn:
        return tr("says");
    case RightColumn:
        return tr("right");
    case RatioColumn:
        return tr("says / right");
    default:
        return {};
    }
}

} // namespace tokenloupe
