// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/trace/stepexplanation.h"
#include "widgets/models/latestworker.h"

#include <QObject>
#include <QTimer>
#include <memory>

namespace tokenloupe {

class EngineHost;
class RunStore;
class SelectionState;

using ExplanationPtr = std::shared_ptr<const StepExplanation>;

/// Explains the selected step: the sampler chain run again over the stored causes, on a thread of its own. A
/// newer selection or a changed setting replaces a waiting request; stale answers are dropped. Panels read
/// current().
class ExplanationService : public QObject
{
    Q_OBJECT

public:
    ExplanationService(EngineHost &host, RunStore &store, SelectionState &selection,
                       QObject *parent = nullptr);
    ~ExplanationService() override;

    /// Of the selected step; null when there is none or its logits were dropped.
    ExplanationPtr current() const { return m_current; }
    QString unavailableReason() const { return m_reason; } ///< empty when there is an explanation or no step

    /// "What if": explain with these settings instead of those that the step was drawn with; null: the step's
    /// own.
    void setWhatIf(std::shared_ptr<const SamplerSettings> settings);
    std::shared_ptr<const SamplerSettings> whatIf() const { return m_whatIf; }

Q_SIGNALS:
    void changed();

private:
    struct Job;
    void explain(Job &job); ///< on the worker's thread
    void request();
    void deliver(std::uint64_t generation, const ExplanationPtr &explanation, const QString &reason);

    EngineHost &m_host;
    RunStore &m_store;
    SelectionState &m_selection;
    std::unique_ptr<LatestWorker<Job>> m_worker;
    std::shared_ptr<const SamplerSettings> m_whatIf;
    ExplanationPtr m_current;
    QString m_reason;
    std::uint64_t m_generation = 0;
    QTimer m_liveTimer; // while tokens come: not one explanation a tick
};

} // namespace tokenloupe
