// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/distribution/candidatedelegate.h"

#include "widgets/controls/celltable.h"
#include "widgets/controls/tokenchip.h"
#include "widgets/models/candidatemodel.h"
#include "widgets/theme/tabulartext.h"
#include "widgets/theme/theme.h"

#include <QPainter>

namespace tokenloupe {

namespace {

/// A bar never takes more of its cell than this, so that the number beside it has room.
constexpr double barShare = 0.56;
/// How strongly removed candidates stay visible.
constexpr double removedOpacity = 0.55;

const CandidateModel *modelOf(const QModelIndex &index)
{
    return qobject_cast<const CandidateModel *>(index.model());
}

} // namespace

CandidateDelegate::CandidateDelegate(CellTable *table)
    : QStyledItemDelegate(table)
    , m_table(table)
{}

QSize CandidateDelegate::sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const
{
    const Theme &theme = Theme::instance();
    if (index.column() == CandidateModel::TokenColumn && modelOf(index) && modelOf(index)->tokenizer()) {
        const Tokenizer &tokenizer = *modelOf(index)->tokenizer();
        const TokenId id(index.data(CandidateModel::TokenIdRole).toUInt());
        TokenChip chip{chipText(tokenizer.bytes(id), tokenizer.kind(id)), {}, ChipState::Normal, false};
        return {int(chip.size().width()) + theme.scaled(10), theme.scaled(22)};
    }
    return {QStyledItemDelegate::sizeHint(option, index).width(), theme.scaled(22)};
}

void CandidateDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option,
                              const QModelIndex &index) const
{
    const Theme &theme = Theme::instance();
    const ThemeColors &colors = theme.colors();
    painter->save();
    const bool chosen = index.data(CandidateModel::ChosenRole).toBool();
    if (chosen)
        painter->fillRect(option.rect, colors.softAccent);
    else if (index.row() == m_table->hoveredRow() ||
             (option.state & QStyle::State_Selected && m_table->hasFocus()))
        painter->fillRect(option.rect, colors.grid);

    if (index.column() == CandidateModel::TokenColumn) {
        paintToken(*painter, option.rect, index);
    } else if (index.column() >= CandidateModel::RawColumn) {
        paintProbability(*painter, option.rect, index);
    } else {
        const bool removed = index.data(CandidateModel::RemovedRole).toBool();
        painter->setFont(theme.font(TextRole::Body));
        painter->setPen(index.column() == CandidateModel::RankColumn || removed
                            ? (chosen ? colors.mutedOnTint : colors.muted)
                            : colors.text);
        drawTabular(*painter, option.rect.adjusted(0, 0, -theme.scaled(6), 0),
                    Qt::AlignRight | Qt::AlignVCenter, index.data().toString());
    }
    painter->restore();
}

void CandidateDelegate::paintToken(QPainter &painter, const QRect &cell, const QModelIndex &index) const
{
    const CandidateModel *model = modelOf(index);
    if (!model || !model->tokenizer())
        return;
    const TokenId id(index.data(CandidateModel::TokenIdRole).toUInt());
    TokenChip chip{
        chipText(model->tokenizer()->bytes(id), model->tokenizer()->kind(id)), {}, ChipState::Normal, false};
    if (index.data(CandidateModel::ChosenRole).toBool())
        chip.state = ChipState::Drawn;
    else if (index.data(CandidateModel::RemovedRole).toBool())
        chip.state = ChipState::Removed;
    // What these settings would draw, where it is not what the run took.
    chip.selected = index.data(CandidateModel::DrawnRole).toBool() && chip.state != ChipState::Drawn;
    painter.setClipRect(cell);
    chip.paint(painter, {double(cell.left()), cell.top() + (cell.height() - chip.size().height()) / 2.0});
}

void CandidateDelegate::paintProbability(QPainter &painter, const QRect &cell, const QModelIndex &index) const
{
    const Theme &theme = Theme::instance();
    const ThemeColors &colors = theme.colors();
    const CandidateModel *model = modelOf(index);
    const bool chosen = index.data(CandidateModel::ChosenRole).toBool();
    const QVariant probability = index.data(CandidateModel::ProbabilityRole);
    painter.setFont(theme.font(TextRole::Small));
    painter.setPen(chosen ? colors.mutedOnTint : colors.muted);
    const int gap = theme.scaled(6);
    if (!probability.isValid()) {
        const QString remover = index.data(CandidateModel::RemoverRole).toString();
        if (!remover.isEmpty())
            painter.drawText(cell.adjusted(0, 0, -gap, 0), Qt::AlignLeft | Qt::AlignVCenter,
                             QString(QStringLiteral("— ") + remover));
        return;
    }
    const auto family = static_cast<StageFamily>(index.data(CandidateModel::FamilyRole).toInt());
    const double largest = model && model->largestProbability() > 0.0 ? model->largestProbability() : 1.0;
    const double width = std::max(1.0, (cell.width() - gap) * barShare * probability.toDouble() / largest);
    const int height = theme.scaled(12);
    const QRectF bar(cell.left(), cell.top() + (cell.height() - height) / 2.0, width, height);
    painter.setRenderHint(QPainter::Antialiasing);
    QColor fill = colors.stage(family);
    if (index.data(CandidateModel::RemovedRole).toBool())
        fill.setAlphaF(float(removedOpacity));
    painter.save();
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    const double radius = std::min(2.0, width / 2.0);
    painter.drawRoundedRect(bar, radius, radius);
    painter.restore();
    drawTabular(painter, QRectF(cell).adjusted(width + gap, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                index.data().toString());
}

} // namespace tokenloupe
