// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/chat/branchstrip.h"

#include "widgets/models/conversation.h"
#include "widgets/models/runstore.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <algorithm>

namespace tokenloupe {

BranchStrip::BranchStrip(InspectorContext &context, QWidget *parent)
    : QWidget(parent)
    , m_context(context)
{
    const auto button = [this](const QString &icon, const QString &name) {
        auto *made = new QToolButton(this);
        made->setIcon(Theme::instance().icon(icon));
        made->setToolTip(name);
        made->setAccessibleName(name);
        made->setAutoRaise(true);
        made->setFocusPolicy(Qt::TabFocus);
        return made;
    };
    m_previous = button(QStringLiteral("chevronleft"), tr("Previous branch"));
    m_next = button(QStringLiteral("chevronright"), tr("Next branch"));
    m_label = new QLabel(this);
    m_label->setFont(Theme::instance().font(TextRole::Small));
    m_label->setForegroundRole(QPalette::PlaceholderText);
    auto *layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(Theme::instance().scaled(4));
    layout->addWidget(m_previous);
    layout->addWidget(m_label);
    layout->addWidget(m_next);
    layout->addStretch(1);
    connect(m_previous, &QToolButton::clicked, this, [this] { show(shownBranch() - 1); });
    connect(m_next, &QToolButton::clicked, this, [this] { show(shownBranch() + 1); });
    connect(&context.conversation, &Conversation::entryAppended, this, &BranchStrip::refresh);
    connect(&context.conversation, &Conversation::entriesRemoved, this, &BranchStrip::refresh);
    connect(&context.conversation, &Conversation::entryChanged, this, &BranchStrip::refresh);
    connect(&context.conversation, &Conversation::reset, this, &BranchStrip::refresh);
    refresh();
}

const ConversationEntry *BranchStrip::reply() const
{
    const auto &entries = m_context.conversation.entries();
    if (entries.empty() || entries.back().author != ConversationEntry::Author::Assistant)
        return nullptr;
    return &entries.back();
}

int BranchStrip::shownBranch() const
{
    const ConversationEntry *entry = reply();
    if (!entry)
        return -1;
    const auto found = std::find(entry->branches.begin(), entry->branches.end(), entry->run);
    return found == entry->branches.end() ? -1 : static_cast<int>(found - entry->branches.begin());
}

void BranchStrip::show(int branch)
{
    const ConversationEntry *entry = reply();
    if (entry && branch >= 0 && branch < static_cast<int>(entry->branches.size()))
        m_context.conversation.showBranch(entry->branches[std::size_t(branch)]);
}

void BranchStrip::refresh()
{
    const ConversationEntry *entry = reply();
    const int shown = shownBranch();
    const int count = entry ? static_cast<int>(entry->branches.size()) : 0;
    setVisible(shown >= 0 && count > 1);
    if (shown < 0)
        return;
    QString text = tr("branch %1 of %2").arg(shown + 1).arg(count);
    const Run *run = m_context.runs.run(entry->run);
    if (run && run->start.parent.isValid())
        text += tr(" · parted at step %1").arg(formatStep(run->start.parent.step));
    m_label->setText(text);
    m_previous->setEnabled(shown > 0);
    m_next->setEnabled(shown + 1 < count);
}

} // namespace tokenloupe
