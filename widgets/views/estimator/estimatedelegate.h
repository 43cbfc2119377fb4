// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStyledItemDelegate>

namespace tokenloupe {

/// Cells of the estimator's tables: text on the left, numbers in tabular figures on the right; in front of a
/// part its colour in the bar; what fits and what does not by ground, mark and words, and a frame round what
/// is chosen at present. Reads the roles of the estimator's item models.
class EstimateDelegate : public QStyledItemDelegate
{
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter *painter, const QStyleOptionViewItem &option,
               const QModelIndex &index) const override;
    QSize sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const override;

protected:
    struct Look
    {
        int color = -1; ///< of the bar; -1: no square
        bool hasVerdict = false;
        bool fits = false;
        bool isCurrent = false;
        bool isStrong = false;
    };
    virtual Look look(const QModelIndex &index) const;
};

} // namespace tokenloupe
