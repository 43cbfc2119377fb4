// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/chat/chatpanel.h"

#include "widgets/controls/progressstrip.h"
#include "widgets/models/conversation.h"
#include "widgets/models/enginehost.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/chat/branchstrip.h"
#include "widgets/views/chat/chatinput.h"
#include "widgets/views/chat/chatview.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>
#include <QVBoxLayout>

namespace tokenloupe {

namespace {

/// Work shorter than this shows no progress: a strip that flashes tells nothing.
constexpr double patientSeconds = 0.15;

} // namespace

ChatPanel::ChatPanel(InspectorContext &context, QWidget *parent)
    : Panel(tr("Chat"), parent)
    , m_context(context)
{
    const Theme &theme = Theme::instance();
    m_newChat = addButton(QStringLiteral("new"), tr("New chat (Ctrl+N)"));
    m_regenerate = addButton(QStringLiteral("refresh"), tr("Regenerate the reply (Ctrl+R)"));
    m_editLast = addButton(QStringLiteral("edit"), tr("Edit the last message (Ctrl+E)"));

    auto *systemRow = new QHBoxLayout;
    systemRow->setSpacing(theme.scaled(8));
    auto *systemLabel = new QLabel(tr("SYSTEM"), this);
    QFont small = theme.font(TextRole::Small);
    small.setWeight(QFont::DemiBold);
    systemLabel->setFont(small);
    systemLabel->setForegroundRole(QPalette::PlaceholderText);
    m_system = new QLineEdit(this);
    m_system->setPlaceholderText(tr("system prompt: none, or the template's own"));
    m_system->setAccessibleName(tr("System prompt"));
    m_system->setToolTip(tr("Takes effect with the next message."));
    m_system->setFrame(false);
    systemLabel->setBuddy(m_system);
    systemRow->addWidget(systemLabel);
    systemRow->addWidget(m_system, 1);
    content()->addLayout(systemRow);

    m_view = new ChatView(context, this);
    content()->addWidget(m_view, 1);
    content()->addWidget(new BranchStrip(context, this));
    m_editing =
        new QLabel(tr("Editing the last message: sending replaces it and its reply (Esc cancels)"), this);
    m_editing->setFont(theme.font(TextRole::Small));
    m_editing->setForegroundRole(QPalette::PlaceholderText);
    m_editing->hide();
    content()->addWidget(m_editing);
    m_input = new ChatInput(this);
    m_input->setPlaceholderText(tr("Message…"));
    content()->addWidget(m_input);
    m_progress = new ProgressStrip(this);
    m_progress->hide();

    connect(m_input, &ChatInput::sendRequested, this, [this] { submit(SubmitMode::Run); });
    connect(m_input, &ChatInput::cancelRequested, this, &ChatPanel::endEdit);
    connect(m_system, &QLineEdit::textEdited, &context.conversation, &Conversation::setSystemPrompt);
    connect(m_newChat, &QToolButton::clicked, &context.conversation, &Conversation::newChat);
    connect(m_regenerate, &QToolButton::clicked, &context.conversation, &Conversation::regenerate);
    connect(m_editLast, &QToolButton::clicked, this, &ChatPanel::beginEditLast);
    connect(m_progress, &ProgressStrip::cancelRequested, &context.host, &EngineHost::cancelWork);
    connect(&context.host, &EngineHost::statusChanged, this, &ChatPanel::refresh);
    connect(&context.conversation, &Conversation::entryAppended, this, &ChatPanel::refresh);
    connect(&context.conversation, &Conversation::entriesRemoved, this, &ChatPanel::refresh);
    connect(&context.conversation, &Conversation::reset, this, [this] {
        endEdit(); // there is no message any more that it could replace
        refresh();
    });
    m_poll.setInterval(50);
    connect(&m_poll, &QTimer::timeout, this, &ChatPanel::refreshProgress);
    refresh();
}

QToolButton *ChatPanel::addButton(const QString &icon, const QString &tip)
{
    auto *button = new QToolButton(this);
    button->setIcon(Theme::instance().icon(icon));
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    button->setAutoRaise(true);
    button->setFocusPolicy(Qt::TabFocus);
    addHeadingWidget(button);
    return button;
}

void ChatPanel::setColouring(TokenColouring colouring)
{
    m_view->setColouring(colouring);
}

bool ChatPanel::hasDraft() const
{
    return !m_input->toPlainText().trimmed().isEmpty();
}

void ChatPanel::submit(SubmitMode mode)
{
    const EngineStatus &status = m_context.host.status();
    if (!hasDraft() || !status.model || status.state == EngineState::Loading)
        return;
    const QString text = m_input->toPlainText();
    m_input->clear();
    if (m_isEdit) {
        endEdit();
        m_context.conversation.editLast(text);
    } else {
        m_context.conversation.send(text, mode == SubmitMode::Paused);
    }
}

void ChatPanel::focusInput()
{
    m_input->setFocus();
}

void ChatPanel::beginEditLast()
{
    const QString last = m_context.conversation.lastUserMessage();
    if (last.isEmpty())
        return;
    m_isEdit = true;
    m_editing->show();
    m_input->setPlainText(last);
    m_input->moveCursor(QTextCursor::End);
    m_input->setFocus();
}

void ChatPanel::endEdit()
{
    if (!m_isEdit)
        return;
    m_isEdit = false;
    m_editing->hide();
    m_input->clear();
}

void ChatPanel::refresh()
{
    const EngineStatus &status = m_context.host.status();
    const bool loading = status.state == EngineState::Loading;
    const bool talked = !m_context.conversation.entries().empty();
    m_newChat->setEnabled(talked);
    m_regenerate->setEnabled(talked && status.model && !loading);
    m_editLast->setEnabled(m_context.conversation.canEditLast());
    m_input->setHint(tr("⏎ send"));
    if (status.model)
        setEmptyState({});
    else if (loading)
        setEmptyState(tr("The model is being opened."));
    else
        setEmptyState(tr("Open a model (Ctrl+O) or drop one here"), tr("Open a model…"));
    if (status.model && !status.model->chat)
        setSummary(tr("no chat template: text is continued"));
    else
        setSummary({});
    const bool working = loading || status.state == EngineState::Prefilling;
    if (working && !m_poll.isActive()) {
        m_poll.start();
    } else if (!working) {
        m_poll.stop();
        m_progress->hide();
    }
}

void ChatPanel::refreshProgress()
{
    const EngineProgress progress = m_context.host.progress();
    if (progress.seconds < patientSeconds)
        return;
    const bool loading = m_context.host.status().state == EngineState::Loading;
    m_progress->setTitle(loading ? tr("Opening the model") : tr("Prefill: reading the prompt"));
    const QString amount =
        loading ? tr("%1 of %2").arg(formatBytes(progress.done), formatBytes(progress.total))
                : tr("%1 of %2 tokens").arg(formatCount(progress.done), formatCount(progress.total));
    m_progress->setProgress(progress.done, progress.total, progress.seconds,
                            progress.total > 0 ? amount : QString());
    if (m_progress->isHidden()) {
        m_progress->show();
        m_progress->raise();
    }
    // Over the transcript's lower edge, so that nothing jumps.
    const int height = m_progress->sizeHint().height();
    const int bottom =
        m_view->isVisible() ? m_view->geometry().bottom() : this->height() - Theme::instance().scaled(12);
    const int side = Theme::instance().scaled(12);
    m_progress->setGeometry(side, bottom - height, width() - 2 * side, height);
}

void ChatPanel::resizeEvent(QResizeEvent *event)
{
    Panel::resizeEvent(event);
    if (m_progress->isVisible())
        refreshProgress();
}

} // namespace tokenloupe
