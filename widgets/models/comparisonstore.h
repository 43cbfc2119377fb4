// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compare/divergence.h"
#include "widgets/models/enginehost.h"

#include <QObject>
#include <map>
#include <memory>
#include <vector>

namespace tokenloupe {

class RunStore;
struct Run;

/// Positions of the runs' texts that were compared in both precisions. Kept until the text changes: a run
/// that is cut loses what came after the cut, a branch begins with what its parent has, another model loses
/// all. Position p holds the logits after token p; step s of a run was drawn at position prompt + s − 1.
class ComparisonStore : public QObject
{
    Q_OBJECT

public:
    using Position = std::shared_ptr<const PositionComparison>;

    ComparisonStore(EngineHost &host, RunStore &runs, QObject *parent = nullptr);

    Position position(RunId run, std::uint32_t position) const; ///< null: not compared
    /// Of all positions of the run's text; null where one was not compared.
    std::vector<Position> positions(const Run &run) const;

    /// How many tokens the text has now: prompt and drawn ones.
    static std::uint32_t textLength(const Run &run);
    static std::uint32_t positionOf(const Run &run, StepIndex step);
    /// The step that was drawn at a position; invalid: one of the prompt, or none was.
    static StepIndex stepAt(const Run &run, std::uint32_t position);

Q_SIGNALS:
    void changed();

private:
    void add(const ComparedText &part);
    void beginBranch(RunId id);
    void truncate(RunId id, int from);

    RunStore &m_runs;
    std::map<RunId, std::vector<Position>> m_positions;
};

} // namespace tokenloupe
