// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/blockmappaint.h"

#include <QWidget>

namespace tokenloupe {

/// Names the marks that a block map shows, and no others: a sample square and a word each, in wrapped rows.
class BlockMapLegend : public QWidget
{
    Q_OBJECT

public:
    explicit BlockMapLegend(QWidget *parent = nullptr);

    void setMarks(std::vector<BlockMark> marks);
    const std::vector<BlockMark> &marks() const { return m_marks; }
    static QString nameOf(BlockMark mark);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    int heightForWidth(int width) const override; ///< for the owner to ask; layouts do not

protected:
    bool event(QEvent *event) override;
    void paintEvent(QPaintEvent *event) override;

private:
    std::vector<QRect> places(int width) const; ///< of the entries, by mark
    int entryWidth(BlockMark mark) const;
    static QString explanationOf(BlockMark mark);

    std::vector<BlockMark> m_marks;
};

} // namespace tokenloupe
