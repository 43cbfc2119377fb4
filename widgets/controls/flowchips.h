// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/tokenchip.h"

#include <QAbstractScrollArea>
#include <QTimer>
#include <vector>

namespace tokenloupe {

/// What FlowChips shows; implemented by the panel. Called on the GUI thread, for visible items and while
/// laying out.
class ChipProvider
{
public:
    virtual ~ChipProvider() = default;
    virtual int count() const = 0;
    virtual TokenChip chip(int index) const = 0;
    virtual QString tooltip(int index) const = 0;
    /// What goes to the clipboard for the items `first` … `last`; as they are labelled, unless a panel knows
    /// better.
    virtual QString copyText(int first, int last) const;
};

/// Token chips in wrapped rows. Rows are laid out up to what is visible and the rest in small slices while
/// idle, and are kept: appended items cost only the last row. Only visible chips are painted. Mouse: hover,
/// click, drag selects a range; keyboard: arrows, Home, End, pages, Shift extends, Return clicks, Ctrl+C
/// copies.
class FlowChips : public QAbstractScrollArea
{
    Q_OBJECT

public:
    explicit FlowChips(QWidget *parent = nullptr);

    /// Not owned; must outlive this or be replaced by nullptr.
    void setProvider(const ChipProvider *provider);
    void itemsReset();    ///< everything may have changed
    void itemsAppended(); ///< count() has grown, what was there stays
    void itemsRepaint();  ///< states or colours changed, sizes did not

    int current() const { return m_current; }    ///< -1: none
    void setCurrent(int index);                  ///< scrolls to it; emits nothing
    int itemAt(const QPoint &viewportPos) const; ///< -1: none
    QRect itemRect(int index);                   ///< in the viewport; lays out up to there
    int rowCount() const { return static_cast<int>(m_rows.size()); } ///< laid out so far
    bool isLaidOut() const { return m_laidOut >= itemCount(); }
    QString selectedText() const;

    QSize sizeHint() const override;

Q_SIGNALS:
    void clicked(int index);
    void hovered(int index); ///< -1: left
    void currentChanged(int index);

protected:
    bool event(QEvent *event) override;
    bool viewportEvent(QEvent *event) override;
    void paintEvent(QPaintEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;
    void keyPressEvent(QKeyEvent *event) override;
    void mousePressEvent(QMouseEvent *event) override;
    void mouseMoveEvent(QMouseEvent *event) override;
    void mouseReleaseEvent(QMouseEvent *event) override;
    void focusInEvent(QFocusEvent *event) override;
    void focusOutEvent(QFocusEvent *event) override;
    void scrollContentsBy(int dx, int dy) override;

private:
    int itemCount() const { return m_provider ? m_provider->count() : 0; }
    int rowOf(int index) const;
    void restartLayout();
    void layOut(int untilItem, int untilY); ///< whichever comes later
    void layOutSlice();
    void updateScrollBar();
    void setHovered(int index);
    void moveCurrent(int index, Qt::KeyboardModifiers modifiers);
    void copySelection() const;

    /// A row: its first item. Items of a row are placed when it is painted.
    struct Row
    {
        int first = 0;
    };

    const ChipProvider *m_provider = nullptr;
    std::vector<Row> m_rows;
    std::vector<float> m_widths; ///< of items laid out so far
    int m_laidOut = 0;
    int m_rowWidth = 0; ///< used in the last row
    int m_rowHeight = 0;
    int m_chipHeight = 0;
    int m_hovered = -1;
    int m_current = -1;
    int m_anchor = -1; ///< other end of the selected range
    int m_pressed = -1;
    QTimer m_idle;
};

} // namespace tokenloupe
