// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/livepanel.h"
#include "widgets/models/inspectorcontext.h"

namespace tokenloupe {

class RankPlot;

/// The whole vocabulary of the selected step by rank, on logarithmic axes, with the chosen token and the
/// cuts.
class VocabularyPanel : public LivePanel
{
    Q_OBJECT

public:
    explicit VocabularyPanel(InspectorContext &context, QWidget *parent = nullptr);

protected:
    void refresh() override;

private:
    InspectorContext m_context;
    RankPlot *m_plot = nullptr;
};

} // namespace tokenloupe
