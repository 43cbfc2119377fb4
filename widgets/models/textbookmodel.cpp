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

} // namespace

void TextbookModel::setResult(EstimatorResultPtr result)
{
    replace(rowsOf(result) == rowsOf(m_result) ? Rows::Same : Rows::Others,
            [&] { m_result = std::move(result); });
}

int TextbookModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : rowsOf(m_result);
}

QStringList TextbookModel::titles() const
{
    return {tr("formula"), tr("says"), tr("right"), tr("says / right")};
}

QVariant TextbookModel::cell(const QModelIndex &index, int role) const
{
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
            return formatTimes(ratioOf(formula));
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
    default:
        return {};
    }
}

} // namespace tokenloupe
