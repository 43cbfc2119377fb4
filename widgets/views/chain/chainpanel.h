// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/livepanel.h"
#include "widgets/models/inspectorcontext.h"

class QCheckBox;
class QLabel;
class QLineEdit;
class QListView;

namespace tokenloupe {

class DrawCard;
class StageDelegate;
class StageEditor;

/// The sampler chain: every stage with its parameters and switch, in an order that is changed by dragging;
/// how many candidates and how much mass survive each at the selected step; the draw and its seed.
class ChainPanel : public LivePanel
{
    Q_OBJECT

public:
    explicit ChainPanel(InspectorContext &context, QWidget *parent = nullptr);

protected:
    void refresh() override;
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    void buildSeedRow();
    void showStage();
    void followSeed();
    void seedEdited();
    void fitList();

    InspectorContext m_context;
    QListView *m_list = nullptr;
    StageDelegate *m_delegate = nullptr;
    DrawCard *m_draw = nullptr;
    QCheckBox *m_seedFixed = nullptr;
    QLineEdit *m_seed = nullptr;
    StageEditor *m_editor = nullptr;
    QLabel *m_note = nullptr;
};

} // namespace tokenloupe
