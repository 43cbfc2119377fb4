// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/stagecard.h"
#include "widgets/models/explanationservice.h"

#include <QStyledItemDelegate>

namespace tokenloupe {

/// Rows of the SamplerModel as stage cards, with what the explained step's run of the chain says of each:
/// survivors and the mass that they kept. The switch answers to clicks; Space toggles the current row.
class StageDelegate : public QStyledItemDelegate
{
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void setExplanation(ExplanationPtr explanation) { m_explanation = std::move(explanation); }
    /// What a row's card says.
    StageCard card(const QModelIndex &index) const;

    void paint(QPainter *painter, const QStyleOptionViewItem &option,
               const QModelIndex &index) const override;
    QSize sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const override;
    bool editorEvent(QEvent *event, QAbstractItemModel *model, const QStyleOptionViewItem &option,
                     const QModelIndex &index) override;

private:
    ExplanationPtr m_explanation;
};

} // namespace tokenloupe
