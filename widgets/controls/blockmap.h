// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/blockmappaint.h"

#include <QWidget>
#include <functional>
#include <vector>

namespace tokenloupe {

/// Squares in rows, filled from the bottom: the blocks of a cache. What each mark means is in
/// blockmappaint.h; BlockMapLegend names those that are there. More blocks than there is room for are drawn
/// smaller, then several to a square (squareBlocks() tells how many). Arrow keys, Home and End walk the
/// squares; hover and keyboard say what the block text tells.
class BlockMap : public QWidget
{
    Q_OBJECT

public:
    explicit BlockMap(QWidget *parent = nullptr);

    void setBlocks(std::vector<Block> blocks);
    const std::vector<Block> &blocks() const { return m_blocks; }
    void setBlockText(std::function<QString(int)> text); ///< asked when it is to be shown or said
    int blockAt(const QPoint &pos) const;                ///< first block of the square; -1: none
    QRect blockRect(int block) const;
    int squareBlocks() const { return m_perSquare; }
    int hoveredBlock() const { return m_hovered < 0 ? -1 : m_hovered * m_perSquare; }

    int largestHeight(int width) const; ///< of all blocks as largest squares: more is of no use

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void hovered(int block); ///< by mouse or keyboard; -1: left
    void clicked(int block);
    void squareBlocksChanged(int blocks); ///< the size or the number of blocks changed it

protected:
    bool event(QEvent *event) override;
    void paintEvent(QPaintEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;
    void mouseMoveEvent(QMouseEvent *event) override;
    void mouseReleaseEvent(QMouseEvent *event) override;
    void leaveEvent(QEvent *event) override;
    void keyPressEvent(QKeyEvent *event) override;
    void focusInEvent(QFocusEvent *event) override;
    void focusOutEvent(QFocusEvent *event) override;

private:
    int squares() const;
    Block square(int index) const; ///< of its blocks together
    QRect squareRect(int index) const;
    void arrange();
    void setHovered(int square);
    void announce(int square);

    std::vector<Block> m_blocks;
    std::function<QString(int)> m_text;
    int m_side = 16;
    int m_gap = 4;
    int m_columns = 1;
    int m_perSquare = 1;
    int m_hovered = -1;     ///< square
    int m_current = -1;     ///< square that the keyboard is at
    bool m_walking = false; ///< the keyboard was used last, not the mouse
};

} // namespace tokenloupe
