// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/livepanel.h"
#include "widgets/models/inspectorcontext.h"

class QModelIndex;

namespace tokenloupe {

class CandidateModel;
class CellTable;

/// The top candidates of the selected step with their probability after each stage, side by side. While a
/// reply is paused, a click on a candidate takes it instead of the drawn one.
class DistributionPanel : public LivePanel
{
    Q_OBJECT

public:
    explicit DistributionPanel(InspectorContext &context, QWidget *parent = nullptr);

protected:
    void refresh() override;
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    /// Whether a click takes a candidate: paused, and the selected step is of the run that is paused.
    bool canTake() const;
    void take(const QModelIndex &index);
    void showMenu(const QPoint &position);
    void layOutColumns();
    void refreshCursor();

    InspectorContext m_context;
    CandidateModel *m_model = nullptr;
    CellTable *m_table = nullptr;
};

} // namespace tokenloupe
