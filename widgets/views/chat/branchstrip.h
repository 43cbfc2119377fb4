// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/inspectorcontext.h"

#include <QWidget>

class QLabel;
class QToolButton;

namespace tokenloupe {

struct ConversationEntry;

/// Which branch of the last reply is shown, and the way to the others. Hidden while there is only one.
class BranchStrip : public QWidget
{
    Q_OBJECT

public:
    explicit BranchStrip(InspectorContext &context, QWidget *parent = nullptr);

private:
    const ConversationEntry *reply() const;
    int shownBranch() const; ///< index in the reply's branches; -1: there are none
    void refresh();
    void show(int branch);

    InspectorContext m_context;
    QToolButton *m_previous = nullptr;
    QToolButton *m_next = nullptr;
    QLabel *m_label = nullptr;
};

} // namespace tokenloupe
