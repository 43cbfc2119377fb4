// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/livepanel.h"
#include "widgets/models/inspectorcontext.h"

namespace tokenloupe {

class CellTable;
class PenaltyModel;
class TokenCellDelegate;

/// What the penalties did at the selected step: the tokens of the window with count, logits and change.
class PenaltiesPanel : public LivePanel
{
    Q_OBJECT

public:
    explicit PenaltiesPanel(InspectorContext &context, QWidget *parent = nullptr);

protected:
    void refresh() override;
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    void layOutColumns();

    InspectorContext m_context;
    PenaltyModel *m_model = nullptr;
    CellTable *m_table = nullptr;
    TokenCellDelegate *m_delegate = nullptr;
};

} // namespace tokenloupe
