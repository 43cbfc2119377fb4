// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/livepanel.h"
#include "widgets/models/inspectorcontext.h"

namespace tokenloupe {

class CumulativePlot;
struct StepExplanation;

/// How the selected step was drawn: the running sums of probability, raw and at the draw, with the mass cut
/// and the draw.
class CumulativePanel : public LivePanel
{
    Q_OBJECT

public:
    explicit CumulativePanel(InspectorContext &context, QWidget *parent = nullptr);

    /// Shows an explanation, wherever it came from.
    void showExplanation(const StepExplanation &explanation);

protected:
    void refresh() override;

private:
    InspectorContext m_context;
    CumulativePlot *m_plot = nullptr;
};

} // namespace tokenloupe
