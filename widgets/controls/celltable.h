// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTableView>

namespace tokenloupe {

/// A table as the panels show it: no grid, no row numbers, rows as high as a chip, the header in muted small
/// text, the last column taking what is left. Up and Down walk the rows; the pointer is a hand where
/// `clickable` says so.
class CellTable : public QTableView
{
    Q_OBJECT

public:
    explicit CellTable(const QString &accessibleName, QWidget *parent = nullptr);

    void setHoveredRow(int row);
    int hoveredRow() const { return m_hovered; }

Q_SIGNALS:
    void rowHovered(int row); ///< -1: left

protected:
    void mouseMoveEvent(QMouseEvent *event) override;
    void leaveEvent(QEvent *event) override;

private:
    int m_hovered = -1;
};

} // namespace tokenloupe
