// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"
#include "widgets/controls/livepanel.h"
#include "widgets/models/inspectorcontext.h"

#include <vector>

namespace tokenloupe {

class StackedTimePlot;
class StepDetails;
struct Run;
struct StepRecord;

/// Of a run's decode steps (the first token belongs to the prefill and is not among them).
struct TimelineStatistics
{
    double firstTokenMs = 0.0; ///< tokenising, prefill, and drawing the first token
    double medianMs = 0.0;
    double p99Ms = 0.0;
    double tokensPerSecond = 0.0; ///< 0: fewer than two tokens
};
TimelineStatistics timelineStatistics(const Run &run);

/// Where each token's time went, in the forward pass too where its operations are timed. Click selects the
/// step everywhere.
class TimelinePanel : public LivePanel
{
    Q_OBJECT

public:
    explicit TimelinePanel(InspectorContext &context, QWidget *parent = nullptr);

protected:
    void refresh() override;

private:
    const Run *shownRun() const;
    void addSwitch();
    void showDetails(const Run &run);
    QString tooltipOf(int token) const;

    InspectorContext m_context;
    StackedTimePlot *m_plot = nullptr;
    StepDetails *m_details = nullptr;
    RunId m_run;
    std::size_t m_steps = 0;
};

} // namespace tokenloupe
