// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/utf8.h"
#include "widgets/models/inspectorcontext.h"
#include "widgets/views/chat/chatlayout.h"
#include "widgets/views/chat/tokencolouring.h"

#include <QAbstractScrollArea>
#include <optional>

namespace tokenloupe {

/// The transcript: messages with their roles, replies token by token with their tint. Hover tells about a
/// token, click selects its step, dragging selects text. Follows the end while it is at the end.
class ChatView : public QAbstractScrollArea
{
    Q_OBJECT

public:
    explicit ChatView(InspectorContext &context, QWidget *parent = nullptr);

    void setColouring(TokenColouring colouring);
    TokenColouring colouring() const { return m_colouring; }
    const ChatLayout &layoutOfText() const { return m_layout; }
    QString selectedText() const;
    /// Where a step's token is drawn, in viewport coordinates; empty when it is not laid out. (tests)
    QRect tokenRect(StepRef step);

protected:
    bool viewportEvent(QEvent *event) override;
    void paintEvent(QPaintEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;
    void mousePressEvent(QMouseEvent *event) override;
    void mouseMoveEvent(QMouseEvent *event) override;
    void mouseReleaseEvent(QMouseEvent *event) override;
    void keyPressEvent(QKeyEvent *event) override;
    void contextMenuEvent(QContextMenuEvent *event) override;

private:
    void applyTheme();
    void rebuild();
    void appendEntry(int index);
    void entryChanged(int index);
    void followRun();
    void updateScrollBar();
    void scrollToSelected();
    QString roleOf(int entry) const;
    QPointF toLayout(const QPoint &viewportPos) const;
    QPointF origin() const; ///< of the layout, in the viewport
    QString tooltip(const TokenSpan &token) const;
    void paintTints(QPainter &painter, const ChatLayout::Row &row);
    void paintSelection(QPainter &painter, const ChatLayout::Row &row);
    void paintSelectedToken(QPainter &painter);
    void paintCaret(QPainter &painter);

    InspectorContext m_context;
    ChatLayout m_layout;
    TokenColouring m_colouring = TokenColouring::Surprise;
    // The newest reply, as far as its tokens are laid out.
    RunId m_run;
    std::size_t m_followed = 0;
    Utf8Stream m_stream;
    bool m_cut = false; ///< steps that are laid out were rewound
    bool m_atEnd = true;
    bool m_pressed = false;
    bool m_dragged = false;
    ChatPosition m_anchor, m_cursor; ///< selected text
};

} // namespace tokenloupe
