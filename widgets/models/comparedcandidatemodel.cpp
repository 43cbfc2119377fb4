// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/comparedcandidatemodel.h"

#include "widgets/theme/numbers.h"

#include <cmath>

namespace tokenloupe {

namespace {

QString signedNumber(double value)
{
    const QString number = formatSignificant(std::abs(value), 2);
    return value == 0.0 || std::isnan(value)
               ? number
               : QString((value < 0.0 ? QStringLiteral("−") : QStringLiteral("+")) + number);
}

QString logitText(float logit)
{
    return std::isinf(logit)
               ? formatSignificant(static_cast<double>(logit))
               : QString::number(static_cast<double>(logit), 'f', 2).replace(QLatin1Char('-'), QChar(0x2212));
}

QString percentText(double p)
{
    const double percent = p * 100.0;
    return percent >= 0.005 || percent == 0.0 ? QString::number(percent, 'f', 2) : QStringLiteral("<0.01");
}

} // namespace

void ComparedCandidateModel::setPosition(ComparisonStore::Position position, std::optional<TokenId> chosen,
                                         std::shared_ptr<const Tokenizer> tokenizer)
{
    if (position == m_position && chosen == m_chosen && tokenizer == m_tokenizer)
        return;
    beginResetModel();
    m_position = std::move(position);
    m_chosen = chosen;
    m_tokenizer = std::move(tokenizer);
    endResetModel();
}

int ComparedCandidateModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() || !m_position ? 0 : static_cast<int>(m_position->candidates.size());
}

QStringList ComparedCandidateModel::titles() const
{
    return {tr("token"),   tr("exact"),  tr("fast"),    tr("Δ logit"),
            tr("exact %"), tr("fast %"), tr("# exact"), tr("# fast")};
}

QVariant ComparedCandidateModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (role != Qt::ToolTipRole || orientation != Qt::Horizontal)
        return FigureTableModel::headerData(section, orientation, role);
    switch (section) {
    case ExactLogitColumn:
    case FastLogitColumn:
        return tr("raw logit in this precision");
    case DifferenceColumn:
        return tr("fast − exact");
    case ExactPColumn:
    case FastPColumn:
        return tr("raw probability in this precision, in percent");
    case ExactRankColumn:
    case FastRankColumn:
        return tr("rank in this precision, from 1");
    default:
        return {};
    }
}

QVariant ComparedCandidateModel::cell(const QModelIndex &index, int role) const
{
    const ComparedCandidate &candidate = m_position->candidates[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        return display(candidate, index.column());
    case TokenIdRole:
        return candidate.id.value();
    case ChosenRole:
        return m_chosen == candidate.id;
    default:
        return {};
    }
}

QString ComparedCandidateModel::display(const ComparedCandidate &candidate, int column) const
{
    switch (column) {
    case TokenColumn: {
        if (!m_tokenizer || candidate.id.value() >= m_tokenizer->size())
            return QString::number(candidate.id.value());
        const std::string_view bytes = m_tokenizer->bytes(candidate.id);
        return QString::fromUtf8(bytes.data(), static_cast<qsizetype>(bytes.size()));
    }
    case ExactLogitColumn:
        return logitText(candidate.exactLogit);
    case FastLogitColumn:
        return logitText(candidate.fastLogit);
    case DifferenceColumn:
        return candidate.exactLogit == candidate.fastLogit
                   ? QStringLiteral("0")
                   : signedNumber(static_cast<double>(candidate.fastLogit) -
                                  static_cast<double>(candidate.exactLogit));
    case ExactPColumn:
        return percentText(candidate.exactP);
    case FastPColumn:
        return percentText(candidate.fastP);
    case ExactRankColumn:
        return formatCount(std::uint64_t(candidate.exactRank) + 1);
    case FastRankColumn:
        return formatCount(std::uint64_t(candidate.fastRank) + 1);
    default:
        return {};
    }
}

} // namespace tokenloupe
