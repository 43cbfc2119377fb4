// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStyledItemDelegate>

namespace tokenloupe {

class CellTable;

/// Paints the cells of a CandidateModel or a PenaltyModel-like table: the token as a chip, probabilities as
/// bars in the stage's colour with the number beside them, the remover's name where a candidate left.
class CandidateDelegate : public QStyledItemDelegate
{
    Q_OBJECT

public:
    explicit CandidateDelegate(CellTable *table);

    void paint(QPainter *painter, const QStyleOptionViewItem &option,
               const QModelIndex &index) const override;
    QSize sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const override;

private:
    void paintToken(QPainter &painter, const QRect &cell, const QModelIndex &index) const;
    void paintProbability(QPainter &painter, const QRect &cell, const QModelIndex &index) const;

    CellTable *m_table;
};

} // namespace tokenloupe
