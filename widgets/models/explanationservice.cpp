// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/explanationservice.h"

#include "widgets/models/enginehost.h"
#include "widgets/models/runstore.h"
#include "widgets/models/selectionstate.h"

#include <QMetaObject>

namespace tokenloupe {

/// Everything that one explanation needs, copied on the GUI thread.
struct ExplanationService::Job
{
    std::uint64_t generation = 0;
    StepRecord record;
    std::vector<TokenId> history;
    std::shared_ptr<const SamplerSettings> settings;
    std::shared_ptr<LogitStore> logits;
};

void ExplanationService::explain(Job &job)
{
    ExplanationPtr explanation;
    QString reason;
    const LogitStore::Row row = job.logits ? job.logits->get(job.record.ref) : nullptr;
    if (!row) {
        reason = tr("The logits of this step were dropped to stay within the trace's budget.");
    } else {
        ExplainRequest request;
        request.ref = job.record.ref;
        request.logits = *row;
        request.history = job.history;
        request.settings = job.settings;
        request.step = job.record.ref.step.value();
        request.chosen = job.record.token;
        request.record = &job.record;
        auto result = explainStep(request);
        if (result)
            explanation = std::make_shared<StepExplanation>(std::move(*result));
        else
            reason = QString::fromStdString(result.error().text());
    }
    QMetaObject::invokeMethod(
        this,
        [this, generation = job.generation, explanation, reason] {
            deliver(generation, explanation, reason);
        },
        Qt::QueuedConnection);
}

ExplanationService::ExplanationService(EngineHost &host, RunStore &store, SelectionState &selection,
                                       QObject *parent)
    : QObject(parent)
    , m_host(host)
    , m_store(store)
    , m_selection(selection)
    , m_worker(std::make_unique<LatestWorker<Job>>([this](Job &job) { explain(job); }))
{
    m_liveTimer.setSingleShot(true);
    m_liveTimer.setInterval(liveExplanationInterval);
    connect(&m_liveTimer, &QTimer::timeout, this, &ExplanationService::request);
    connect(&selection, &SelectionState::changed, this, [this] {
        const bool running = m_host.status().state == EngineState::Running;
        if (!running || !m_selection.isLive()) {
            m_liveTimer.stop();
            request();
        } else if (!m_liveTimer.isActive()) {
            m_liveTimer.start();
        }
    });
    // The end of a run: show its last step at once.
    connect(&host, &EngineHost::statusChanged, this, [this] {
        if (m_liveTimer.isActive() && m_host.status().state != EngineState::Running) {
            m_liveTimer.stop();
            request();
        }
    });
}

ExplanationService::~ExplanationService() = default;

void ExplanationService::setWhatIf(std::shared_ptr<const SamplerSettings> settings)
{
    m_whatIf = std::move(settings);
    request();
}

void ExplanationService::request()
{
    ++m_generation;
    const StepRecord *record = m_store.record(m_selection.current());
    if (!record) {
        deliver(m_generation, nullptr, {});
        return;
    }
    Job job;
    job.generation = m_generation;
    job.record = *record;
    job.history = m_store.run(record->ref.run)->historyBefore(record->ref.step);
    job.settings = record->settings;
    if (m_whatIf) {
        // The step's own seed: a what-if asks for other stages, not for other luck.
        auto settings = std::make_shared<SamplerSettings>(*m_whatIf);
        settings->seed = record->settings->seed;
        job.settings = settings;
    }
    job.logits = m_host.logits();
    m_worker->post(std::move(job));
}

void ExplanationService::deliver(std::uint64_t generation, const ExplanationPtr &explanation,
                                 const QString &reason)
{
    if (generation != m_generation)
        return; // of a selection or a setting that is no more
    m_current = explanation;
    m_reason = reason;
    Q_EMIT changed();
}

} // namespace tokenloupe
