// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/chat/chatinput.h"

#include "widgets/theme/theme.h"

#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <QTextBlock>

namespace tokenloupe {

namespace {
constexpr int mostLines = 6;
}

ChatInput::ChatInput(QWidget *parent)
    : QPlainTextEdit(parent)
{
    setFont(Theme::instance().font(TextRole::Body));
    setAccessibleName(tr("Message"));
    setTabChangesFocus(true);
    setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    document()->setDocumentMargin(Theme::instance().scaled(8));
    connect(this, &QPlainTextEdit::textChanged, this, &ChatInput::fit);
    fit();
}

void ChatInput::setHint(const QString &hint)
{
    m_hint = hint;
    viewport()->update();
}

void ChatInput::fit()
{
    // Of a plain text document the height is counted in lines, wrapped ones included.
    const int lines = std::clamp(int(document()->size().height()), 1, mostLines);
    const int height =
        fontMetrics().lineSpacing() * lines + int(2 * document()->documentMargin()) + 2 * frameWidth() + 2;
    if (height != this->height())
        setFixedHeight(height);
}

void ChatInput::resizeEvent(QResizeEvent *event)
{
    QPlainTextEdit::resizeEvent(event);
    fit();
}

bool ChatInput::event(QEvent *event)
{
    // In an empty field these keys have nothing to do: they walk through the steps, as everywhere else.
    if (event->type() == QEvent::ShortcutOverride && document()->isEmpty()) {
        const auto *key = static_cast<QKeyEvent *>(event);
        if (key->modifiers() == Qt::NoModifier &&
            (key->key() == Qt::Key_Left || key->key() == Qt::Key_Right || key->key() == Qt::Key_End)) {
            event->ignore();
            return true;
        }
    }
    return QPlainTextEdit::event(event);
}

void ChatInput::keyPressEvent(QKeyEvent *event)
{
    const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (enter && !(event->modifiers() & Qt::ShiftModifier)) {
        Q_EMIT sendRequested();
        return;
    }
    if (event->key() == Qt::Key_Escape) {
        Q_EMIT cancelRequested();
        return;
    }
    QPlainTextEdit::keyPressEvent(event);
}

void ChatInput::paintEvent(QPaintEvent *event)
{
    QPlainTextEdit::paintEvent(event);
    if (m_hint.isEmpty() || document()->blockCount() > 1)
        return;
    QPainter painter(viewport());
    painter.setFont(Theme::instance().font(TextRole::Small));
    const int width = painter.fontMetrics().horizontalAdvance(m_hint);
    const QRect room = viewport()->rect().adjusted(0, 0, -Theme::instance().scaled(10), 0);
    // Only where the text does not reach.
    if (fontMetrics().horizontalAdvance(document()->firstBlock().text()) + width +
            Theme::instance().scaled(40) >
        room.width())
        return;
    painter.setPen(Theme::instance().colors().muted);
    painter.drawText(room, Qt::AlignRight | Qt::AlignVCenter, m_hint);
}

} // namespace tokenloupe
