// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/panel.h"
#include "widgets/models/inspectorcontext.h"
#include "widgets/views/chat/tokencolouring.h"

#include <QTimer>

class QLabel;
class QLineEdit;
class QToolButton;

namespace tokenloupe {

class ChatInput;
class ChatView;
class ProgressStrip;

enum class SubmitMode { Run, Paused };

/// The chat: system prompt, transcript, message field; loading and prefill show their progress here.
class ChatPanel : public Panel
{
    Q_OBJECT

public:
    explicit ChatPanel(InspectorContext &context, QWidget *parent = nullptr);

    void setColouring(TokenColouring colouring);
    bool hasDraft() const; ///< there is text in the message field
    void submit(SubmitMode mode);
    void focusInput();
    void beginEditLast(); ///< the last message goes to the field; sending replaces it and its reply
    ChatView *view() const { return m_view; }

protected:
    void resizeEvent(QResizeEvent *event) override;

private:
    void endEdit();
    void refresh();
    void refreshProgress();
    QToolButton *addButton(const QString &icon, const QString &tip);

    InspectorContext m_context;
    QLineEdit *m_system = nullptr;
    ChatView *m_view = nullptr;
    ChatInput *m_input = nullptr;
    QLabel *m_editing = nullptr;
    QToolButton *m_newChat = nullptr;
    QToolButton *m_regenerate = nullptr;
    QToolButton *m_editLast = nullptr;
    ProgressStrip *m_progress = nullptr;
    QTimer m_poll;
    bool m_isEdit = false;
};

} // namespace tokenloupe
