// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/trace/steprecord.h"
#include "engine/trace/tracemailbox.h"

#include <QObject>
#include <map>
#include <optional>
#include <vector>

namespace tokenloupe {

/// A run as the GUI knows it.
struct Run
{
    RunRecord start;
    std::vector<StepRecord> steps;
    std::optional<EndReason> end;

    /// Prompt and tokens before `step`.
    std::vector<TokenId> historyBefore(StepIndex step) const;
};

/// All runs of the loaded model, on the GUI thread. Filled by TracePump in batches; what() tells listeners
/// what a batch did, once per batch.
class RunStore : public QObject
{
    Q_OBJECT

public:
    using QObject::QObject;

    const std::map<RunId, Run> &runs() const { return m_runs; }
    const Run *run(RunId id) const;
    const StepRecord *record(StepRef ref) const;
    RunId newestRun() const { return m_newest; } ///< the one that goes on: started or activated last
    StepRef newestStep() const;
    bool isEmpty() const { return m_runs.empty(); }

    void apply(const std::vector<TraceEvent> &events); ///< emits updated() once when anything changed
    void clear();                                      ///< emits cleared()

Q_SIGNALS:
    void runStarted(tokenloupe::RunId run);
    void stepsAppended(tokenloupe::RunId run, int first, int count); ///< once per run and batch
    void truncated(tokenloupe::RunId run, int from);
    void runEnded(tokenloupe::RunId run);
    void runActivated(tokenloupe::RunId run); ///< an older one is newestRun() again
    void cleared();
    void updated(); ///< after the above, once per batch

private:
    /// A run as it starts. A branch has the prompt and its first steps in common with the run that it left.
    Run begun(const RunRecord &start) const;

    std::map<RunId, Run> m_runs;
    RunId m_newest;
};

} // namespace tokenloupe
