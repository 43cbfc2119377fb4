// SPDX-License-Identifier: GPL-3.0-or-later
// How the transcript is painted.
#include "widgets/views/chat/chatview.h"

#include "widgets/models/conversation.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/runstore.h"
#include "widgets/models/selectionstate.h"
#include "widgets/theme/theme.h"

#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>

namespace tokenloupe {

void ChatView::paintEvent(QPaintEvent *)
{
    const ThemeColors &colors = Theme::instance().colors();
    QPainter painter(viewport());
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(origin());
    const double top = verticalScrollBar()->value();
    const double before = m_layout.height();
    const auto rows = m_layout.rowsIn(top, top + viewport()->height());
    for (const ChatLayout::Row *row : rows) {
        if (row->isRole) {
            QFont font = Theme::instance().font(TextRole::Small);
            font.setWeight(QFont::DemiBold);
            painter.setFont(font);
            painter.setPen(colors.muted);
            painter.drawText(QRectF(0, row->top, m_layout.width(), row->height - 2),
                             Qt::AlignLeft | Qt::AlignBottom,
                             painter.fontMetrics().elidedText(m_layout.message(row->message).role,
                                                              Qt::ElideRight, int(m_layout.width())));
            continue;
        }
        paintTints(painter, *row);
        paintSelection(painter, *row);
        painter.setPen(colors.text);
        row->layout->draw(&painter, {0.0, row->top});
    }
    paintSelectedToken(painter);
    paintCaret(painter);
    // Rows that were laid out only now have their true height: the bar follows once the painting is done.
    if (m_layout.height() != before)
        QMetaObject::invokeMethod(
            this, [this] { updateScrollBar(); }, Qt::QueuedConnection);
}

void ChatView::paintTints(QPainter &painter, const ChatLayout::Row &row)
{
    if (m_colouring == TokenColouring::None)
        return;
    const auto &tokens = m_layout.message(row.message).tokens;
    const int end = row.start + row.length;
    auto token =
        std::lower_bound(tokens.begin(), tokens.end(), row.start,
                         [](const TokenSpan &span, int start) { return span.start + span.length <= start; });
    painter.setPen(Qt::NoPen);
    for (; token != tokens.end() && token->start < end; ++token) {
        const StepRecord *record = token->length > 0 ? m_context.runs.record(token->step) : nullptr;
        const QColor tint = record ? tintColor(m_colouring, *record) : QColor();
        if (!tint.isValid())
            continue;
        painter.setBrush(tint);
        for (int i = 0; i < row.layout->lineCount(); ++i) {
            const QTextLine line = row.layout->lineAt(i);
            const int a = std::max(token->start - row.start, line.textStart());
            const int b =
                std::min(token->start + token->length - row.start, line.textStart() + line.textLength());
            if (a >= b)
                continue;
            const double x1 = line.cursorToX(a);
            const double x2 = line.cursorToX(b);
            painter.drawRoundedRect(QRectF(std::min(x1, x2), row.top + line.position().y() - 1,
                                           std::abs(x2 - x1), line.height() + 2),
                                    3, 3);
        }
    }
}

void ChatView::paintSelection(QPainter &painter, const ChatLayout::Row &row)
{
    if (!m_anchor.isValid() || !m_cursor.isValid() || m_anchor == m_cursor)
        return;
    const ChatPosition from = std::min(m_anchor, m_cursor);
    const ChatPosition to = std::max(m_anchor, m_cursor);
    if (row.message < from.message || row.message > to.message)
        return;
    const int begin = std::max(row.start, row.message == from.message ? from.offset : 0);
    const int end =
        std::min(row.start + row.length, row.message == to.message ? to.offset : row.start + row.length);
    painter.setPen(Qt::NoPen);
    QColor color = Theme::instance().colors().accent;
    color.setAlphaF(0.28F);
    painter.setBrush(color);
    if (begin >= end)
        return;
    for (const QRectF &rect : m_layout.rectsOf(row.message, begin, end - begin)) {
        if (rect.top() >= row.top - 1 && rect.bottom() <= row.top + row.height + 1)
            painter.drawRect(rect);
    }
}

void ChatView::paintSelectedToken(QPainter &painter)
{
    const StepRef step = m_context.selection.current();
    // While live the newest token is not outlined: the caret shows where it is.
    if (!step.isValid() ||
        (m_context.selection.isLive() && m_context.host.status().state == EngineState::Running))
        return;
    for (int i = m_layout.messageCount() - 1; i >= 0; --i) {
        const auto &tokens = m_layout.message(i).tokens;
        if (tokens.empty() || tokens.front().step.run != step.run || step.step.value() >= tokens.size())
            continue;
        const TokenSpan &token = tokens[step.step.value()];
        painter.setPen(QPen(Theme::instance().colors().accent, 2));
        painter.setBrush(Qt::NoBrush);
        for (const QRectF &rect : m_layout.rectsOf(i, token.start, token.length))
            painter.drawRoundedRect(rect.adjusted(0, -2, 0, 2), 4, 4);
        return;
    }
}

void ChatView::paintCaret(QPainter &painter)
{
    const EngineState state = m_context.host.status().state;
    if (!m_context.conversation.isReplying() || m_layout.messageCount() == 0 ||
        (state != EngineState::Running && state != EngineState::Paused && state != EngineState::Prefilling))
        return;
    const auto &rows = m_layout.rows();
    const ChatLayout::Row &row = rows.back();
    if (!row.layout || row.layout->lineCount() == 0)
        return;
    const QTextLine line = row.layout->lineAt(row.layout->lineCount() - 1);
    const double x = line.cursorToX(line.textStart() + line.textLength());
    const double height = painter.fontMetrics().ascent() + 2;
    painter.fillRect(QRectF(x + 1, row.top + line.position().y() + (line.height() - height) / 2, 5, height),
                     Theme::instance().colors().accent);
}

} // namespace tokenloupe
