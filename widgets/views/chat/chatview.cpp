// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/chat/chatview.h"

#include "widgets/controls/tokentext.h"
#include "widgets/models/conversation.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/modeltitle.h"
#include "widgets/models/runstore.h"
#include "widgets/models/selectionstate.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QHelpEvent>
#include <QMenu>
#include <QScrollBar>
#include <QToolTip>

#include <cmath>

namespace tokenloupe {

namespace {

constexpr int sideMargin = 4;

/// Text and token places of the steps `first` … of a run.
void appendSteps(const Run &run, std::size_t first, const Tokenizer &tokenizer, Utf8Stream &stream,
                 int textLength, QString &text, std::vector<TokenSpan> &tokens)
{
    for (std::size_t i = first; i < run.steps.size(); ++i) {
        const StepRecord &step = run.steps[i];
        QString added;
        if (!tokenizer.isControl(step.token))
            added = QString::fromStdString(stream.push(tokenizer.bytes(step.token)));
        added.remove(QLatin1Char('\r'));
        const int start = textLength + static_cast<int>(text.size());
        text += added;
        tokens.push_back({start, static_cast<int>(added.size()), step.ref});
    }
}

} // namespace

ChatView::ChatView(InspectorContext &context, QWidget *parent)
    : QAbstractScrollArea(parent)
    , m_context(context)
{
    setFrameShape(NoFrame);
    setAccessibleName(tr("Chat"));
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    viewport()->setAutoFillBackground(false);
    connect(&context.conversation, &Conversation::reset, this, &ChatView::rebuild);
    connect(&context.conversation, &Conversation::entryAppended, this, &ChatView::appendEntry);
    connect(&context.conversation, &Conversation::entriesRemoved, this, [this](int first) {
        m_layout.removeFrom(first);
        m_run = {};
        updateScrollBar();
    });
    connect(&context.conversation, &Conversation::entryChanged, this, &ChatView::entryChanged);
    connect(&context.selection, &SelectionState::changed, this, [this] {
        if (!m_context.selection.isLive())
            scrollToSelected();
        viewport()->update();
    });
    connect(&context.runs, &RunStore::truncated, this, [this](RunId run, int from) {
        m_cut = m_cut || (run == m_run && std::size_t(from) < m_followed);
    });
    connect(&context.host, &EngineHost::statusChanged, viewport(), qOverload<>(&QWidget::update));
    connect(&Theme::instance(), &Theme::changed, this, &ChatView::applyTheme);
    connect(verticalScrollBar(), &QScrollBar::valueChanged, this, [this](int value) {
        m_atEnd = value >= verticalScrollBar()->maximum() - 2;
        viewport()->update();
    });
    applyTheme();
}

void ChatView::applyTheme()
{
    m_layout.setFonts({Theme::instance().font(TextRole::Small), Theme::instance().font(TextRole::Chat)});
    updateScrollBar();
}

void ChatView::setColouring(TokenColouring colouring)
{
    m_colouring = colouring;
    rebuild();
}

QString ChatView::roleOf(int entry) const
{
    const ConversationEntry &message = m_context.conversation.entries()[std::size_t(entry)];
    if (message.author == ConversationEntry::Author::User)
        return tr("YOU");
    const auto &model = m_context.host.status().model;
    QString name = model ? modelTitle(*model->model).toUpper() : tr("MODEL");
    if (m_colouring != TokenColouring::None)
        name += tr(" · colour: %1").arg(colouringName(m_colouring));
    return name;
}

void ChatView::rebuild()
{
    m_layout.clear();
    m_run = {};
    m_anchor = m_cursor = {};
    for (int i = 0; i < static_cast<int>(m_context.conversation.entries().size()); ++i)
        appendEntry(i);
    updateScrollBar();
}

void ChatView::appendEntry(int index)
{
    const ConversationEntry &entry = m_context.conversation.entries()[std::size_t(index)];
    ChatText message;
    message.role = roleOf(index);
    if (entry.author == ConversationEntry::Author::Assistant) {
        m_run = entry.run;
        m_stream = {};
        m_followed = 0;
    } else {
        message.text = QString::fromStdString(entry.text);
    }
    m_layout.appendMessage(std::move(message));
    if (entry.author == ConversationEntry::Author::Assistant)
        followRun();
    else
        m_atEnd = true; // what one sends oneself is looked at
    updateScrollBar();
}

void ChatView::entryChanged(int index)
{
    const ConversationEntry &entry = m_context.conversation.entries()[std::size_t(index)];
    if (index != m_layout.messageCount() - 1 || entry.author != ConversationEntry::Author::Assistant)
        return;
    const Run *run = entry.run.isValid() ? m_context.runs.run(entry.run) : nullptr;
    // Steps that were laid out may be gone or others since: a forced token, a rewind.
    const auto &tokens = m_layout.message(index).tokens;
    const bool cut = entry.run != m_run || (run && run->steps.size() < m_followed) || m_cut;
    m_cut = false;
    if (cut && !tokens.empty()) {
        m_layout.replaceLast({roleOf(index), {}, {}});
        m_stream = {};
        m_followed = 0;
    }
    m_run = entry.run;
    followRun();
}

void ChatView::followRun()
{
    const Run *run = m_run.isValid() ? m_context.runs.run(m_run) : nullptr;
    const auto &model = m_context.host.status().model;
    if (!run || !model)
        return;
    QString text;
    std::vector<TokenSpan> tokens;
    const int length = static_cast<int>(m_layout.message(m_layout.messageCount() - 1).text.size());
    appendSteps(*run, m_followed, *model->tokenizer, m_stream, length, text, tokens);
    m_followed = run->steps.size();
    if (run->end && !m_stream.pending().empty()) {
        // Should the run go on after all, the missing bytes come: then it is laid out from its start.
        text += QString::fromStdString(m_stream.finish());
        m_cut = true;
    }
    if (!tokens.empty() || !text.isEmpty())
        m_layout.extendLast(text, tokens);
    updateScrollBar();
}

QPointF ChatView::origin() const
{
    return {double(Theme::instance().scaled(sideMargin)), double(-verticalScrollBar()->value())};
}

QPointF ChatView::toLayout(const QPoint &viewportPos) const
{
    return QPointF(viewportPos) - origin();
}

void ChatView::updateScrollBar()
{
    const bool follow = m_atEnd;
    m_layout.setWidth(viewport()->width() - 2.0 * Theme::instance().scaled(sideMargin));
    if (follow) {
        // The end is what is looked at: its rows are laid out before its place is known.
        const double bottom = m_layout.height();
        m_layout.rowsIn(bottom - 2.0 * viewport()->height(), bottom + viewport()->height());
    }
    const int range =
        std::max(0, int(std::ceil(m_layout.height())) + Theme::instance().scaled(8) - viewport()->height());
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(int(m_layout.lineHeight()));
    verticalScrollBar()->setRange(0, range);
    if (follow) {
        verticalScrollBar()->setValue(range);
        m_atEnd = true;
    }
    viewport()->update();
}

void ChatView::scrollToSelected()
{
    const StepRef step = m_context.selection.current();
    for (int i = 0; i < m_layout.messageCount(); ++i) {
        for (const TokenSpan &token : m_layout.message(i).tokens) {
            if (token.step != step)
                continue;
            m_layout.layOutAt({i, token.start});
            updateScrollBar();
            const auto rects = m_layout.rectsOf(i, token.start, std::max(token.length, 1));
            if (rects.empty())
                return;
            const QRectF rect = rects.front().translated(origin());
            if (rect.top() < 0)
                verticalScrollBar()->setValue(
                    int(verticalScrollBar()->value() + rect.top() - m_layout.lineHeight()));
            else if (rect.bottom() > viewport()->height())
                verticalScrollBar()->setValue(int(verticalScrollBar()->value() + rect.bottom() -
                                                  viewport()->height() + m_layout.lineHeight()));
            return;
        }
    }
}

QRect ChatView::tokenRect(StepRef step)
{
    for (int i = 0; i < m_layout.messageCount(); ++i) {
        for (const TokenSpan &token : m_layout.message(i).tokens) {
            if (token.step != step || token.length == 0)
                continue;
            const auto rects = m_layout.rectsOf(i, token.start, token.length);
            return rects.empty() ? QRect() : rects.front().translated(origin()).toRect();
        }
    }
    return {};
}

QString ChatView::selectedText() const
{
    if (!m_anchor.isValid() || !m_cursor.isValid() || m_anchor == m_cursor)
        return {};
    return m_layout.textBetween(m_anchor, m_cursor);
}

QString ChatView::tooltip(const TokenSpan &token) const
{
    const StepRecord *record = m_context.runs.record(token.step);
    const auto &model = m_context.host.status().model;
    if (!record || !model)
        return {};
    QString text = tokenDescription(*model->tokenizer, record->token);
    text +=
        tr("\nstep %1 · probability %2 % raw, %3 % at the draw · rank %4")
            .arg(formatStep(token.step.step))
            .arg(QString::number(record->pRaw * 100.0, 'g', 4), QString::number(record->p * 100.0, 'g', 4))
            .arg(record->rank + 1);
    text += tr("\nlogit %1 · entropy %2 bits")
                .arg(QString::number(double(record->logit), 'g', 5),
                     QString::number(record->entropyBits, 'f', 2));
    if (record->origin == TokenOrigin::Forced)
        text += tr("\ntaken by hand");
    return text;
}

bool ChatView::viewportEvent(QEvent *event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto *help = static_cast<QHelpEvent *>(event);
        const TokenSpan *token = m_layout.tokenAt(toLayout(help->pos()));
        if (token)
            QToolTip::showText(help->globalPos(), tooltip(*token), viewport());
        else
            QToolTip::hideText();
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void ChatView::resizeEvent(QResizeEvent *event)
{
    QAbstractScrollArea::resizeEvent(event);
    updateScrollBar();
}

void ChatView::mousePressEvent(QMouseEvent *event)
{
    if (event->button() != Qt::LeftButton)
        return;
    m_pressed = true;
    m_dragged = false;
    m_anchor = m_cursor = m_layout.positionAt(toLayout(event->position().toPoint()));
    viewport()->update();
}

void ChatView::mouseMoveEvent(QMouseEvent *event)
{
    const QPoint at = event->position().toPoint();
    if (m_pressed) {
        const ChatPosition position = m_layout.positionAt(toLayout(at));
        if (position != m_cursor) {
            m_cursor = position;
            m_dragged = true;
            viewport()->update();
        }
        return;
    }
    viewport()->setCursor(m_layout.tokenAt(toLayout(at)) ? Qt::PointingHandCursor : Qt::IBeamCursor);
}

void ChatView::mouseReleaseEvent(QMouseEvent *event)
{
    if (event->button() != Qt::LeftButton || !m_pressed)
        return;
    m_pressed = false;
    if (m_dragged)
        return;
    if (const TokenSpan *token = m_layout.tokenAt(toLayout(event->position().toPoint())))
        m_context.selection.select(token->step);
}

void ChatView::keyPressEvent(QKeyEvent *event)
{
    if (event->matches(QKeySequence::Copy)) {
        QGuiApplication::clipboard()->setText(selectedText());
    } else if (event->matches(QKeySequence::SelectAll)) {
        m_anchor = {0, 0};
        const int last = m_layout.messageCount() - 1;
        m_cursor = last < 0 ? ChatPosition()
                            : ChatPosition{last, static_cast<int>(m_layout.message(last).text.size())};
        viewport()->update();
    } else {
        QAbstractScrollArea::keyPressEvent(event);
    }
}

void ChatView::contextMenuEvent(QContextMenuEvent *event)
{
    QMenu menu(this);
    QAction *copy = menu.addAction(tr("Copy"), QKeySequence::Copy);
    copy->setEnabled(!selectedText().isEmpty());
    connect(copy, &QAction::triggered, this,
            [this] { QGuiApplication::clipboard()->setText(selectedText()); });
    connect(menu.addAction(tr("Copy the whole chat")), &QAction::triggered, this, [this] {
        const int last = m_layout.messageCount() - 1;
        if (last >= 0)
            QGuiApplication::clipboard()->setText(
                m_layout.textBetween({0, 0}, {last, static_cast<int>(m_layout.message(last).text.size())}));
    });
    menu.exec(event->globalPos());
}

} // namespace tokenloupe
