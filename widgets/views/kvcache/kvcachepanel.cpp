// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/kvcachepanel.h"

#include "widgets/models/conversation.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/enginestatetext.h"
#include "widgets/models/runstore.h"
#include "widgets/models/selectionstate.h"
#include "widgets/theme/numbers.h"
#include "widgets/views/kvcache/cachesections.h"
#include "widgets/views/kvcache/contextoutlook.h"
#include "widgets/views/kvcache/growthview.h"
#include "widgets/views/kvcache/layersview.h"
#include "widgets/views/kvcache/poolview.h"
#include "widgets/views/kvcache/wasteview.h"
#include "widgets/views/kvcache/withoutcacheview.h"

#include <QVBoxLayout>
#include <algorithm>

namespace tokenloupe {

namespace {

constexpr int progressEveryMs = 100;

// "3" when all layers have as many, else "1 to 4".
QString kvHeadsText(const KvShape &shape)
{
    const auto [least, most] =
        std::minmax_element(shape.layers.begin(), shape.layers.end(),
                            [](const KvLayerShape &a, const KvLayerShape &b) { return a.heads < b.heads; });
    if (least->heads == most->heads)
        return QString::number(most->heads);
    return KvCachePanel::tr("%1 to %2").arg(least->heads).arg(most->heads);
}

bool holds(const CacheSequence &sequence, std::size_t pool, BlockId block)
{
    return pool < sequence.tables.size() &&
           std::find(sequence.tables[pool].begin(), sequence.tables[pool].end(), block) !=
               sequence.tables[pool].end();
}

} // namespace

KvCachePanel::KvCachePanel(InspectorContext &context, QWidget *parent)
    : LivePanel(tr("KV cache"), parent)
    , m_context(context)
{
    m_sections = new CacheSections;
    content()->addWidget(m_sections, 1);
    m_progress.setInterval(progressEveryMs);
    connectSources();
    connect(&m_progress, &QTimer::timeout, this,
            [this] { m_sections->withoutCache()->showProgress(m_context.host.progress()); });
    const auto select = [this](int step) {
        if (const Run *run = shownRun())
            selectStep(run->start.run, step);
    };
    connect(m_sections->growth(), &GrowthView::stepClicked, this, select);
    connect(m_sections->withoutCache(), &WithoutCacheView::stepClicked, this, select);
    connect(m_sections->pool(), &PoolView::blockActivated, this, &KvCachePanel::activateBlock);
    connect(m_sections->withoutCache(), &WithoutCacheView::measureRequested, this, &KvCachePanel::measure);
    connect(m_sections->withoutCache(), &WithoutCacheView::cancelRequested, &context.host,
            &EngineHost::cancelWork);
}

void KvCachePanel::connectSources()
{
    const RunStore &runs = m_context.runs;
    const auto forget = [this] {
        m_sections->growth()->forget();
        scheduleRefresh();
    };
    connect(&runs, &RunStore::updated, this, &KvCachePanel::scheduleRefresh);
    connect(&runs, &RunStore::truncated, this, forget);
    connect(&runs, &RunStore::cleared, this, forget);
    connect(&runs, &RunStore::runStarted, this, forget);
    connect(&m_context.selection, &SelectionState::changed, this, &KvCachePanel::scheduleRefresh);
    connect(&m_context.host, &EngineHost::statusChanged, this, &KvCachePanel::scheduleRefresh);
    connect(&m_context.host, &EngineHost::cacheChanged, this, &KvCachePanel::scheduleRefresh);
    connect(&m_context.host, &EngineHost::cacheWorkChanged, this, &KvCachePanel::scheduleRefresh);
}

const Run *KvCachePanel::shownRun() const
{
    const RunId id =
        m_context.selection.isLive() ? m_context.runs.newestRun() : m_context.selection.current().run;
    return m_context.runs.run(id);
}

void KvCachePanel::setAttentionVariants(const std::vector<AttentionVariant> &variants)
{
    m_sections->layers()->setVariants(variants);
}

void KvCachePanel::refresh()
{
    const EngineStatus &status = m_context.host.status();
    const Run *run = shownRun();
    showHeading(run);
    if (!run) {
        if (status.model)
            setEmptyState(
                tr("Send a message: the cache fills with the prompt, then grows with every token."));
        else
            setEmptyState(tr("Open a model (Ctrl+O) or drop one here."), tr("Open a model…"));
        return;
    }
    setEmptyState({});
    const std::shared_ptr<const CacheSnapshot> snapshot = m_context.host.cache();
    const StepRef selected = m_context.selection.current();
    const bool ofRun = selected.run == run->start.run && selected.step.value() < run->steps.size();
    const std::optional<StepIndex> step = ofRun ? std::optional(selected.step) : std::nullopt;

    m_sections->growth()->setRun(*run, status.kvShape, status.session.contextTokens, snapshot.get());
    m_sections->growth()->setSelected(step, *run);
    m_sections->growth()->setWarning(warningFor(*run));

    m_sections->pool()->setTokenizer(status.model ? status.model->tokenizer : nullptr);
    m_sections->pool()->setSnapshot(snapshot,
                                    {run->start.run, step ? positionOf(*run, *step) : std::nullopt});

    ReservedTokens reserved;
    reserved.prompt = static_cast<std::uint32_t>(run->start.prompt.size());
    reserved.most = m_context.conversation.maxTokens();
    reserved.droppedTurns = run->start.droppedTurns;
    m_sections->waste()->setSnapshot(snapshot, reserved);
    m_sections->layers()->setShape(status.kvShape, step ? run->steps[step->value()].kvTokens : 0);
    showWork(*run);
    m_sections->withoutCache()->setSelectedStep(step ? static_cast<int>(step->value()) : -1);
}

void KvCachePanel::showHeading(const Run *run)
{
    const EngineStatus &status = m_context.host.status();
    const StepRecord *record = m_context.runs.record(m_context.selection.current());
    QStringList parts;
    if (run && record)
        parts << formatBytes(record->kvBytes);
    if (!status.kvShape.layers.empty() && (run || status.model)) {
        parts << tr("%1 a token").arg(formatBytes(status.kvShape.bytesPerToken()));
        if (status.model)
            parts << tr("%1 of %2 heads").arg(kvHeadsText(status.kvShape)).arg(status.model->config().heads);
    }
    setSummary(parts.join(QStringLiteral(" · ")));
}

QString KvCachePanel::warningFor(const Run &run) const
{
    // only of the reply that is being made: an old one cannot be helped any more
    if (run.end || run.start.run != m_context.host.status().run)
        return {};
    const SessionSettings &settings = m_context.host.status().session;
    ContextOutlook outlook;
    outlook.contextTokens = settings.contextTokens;
    outlook.tokens =
        run.steps.empty() ? static_cast<std::uint32_t>(run.start.prompt.size()) : run.steps.back().kvTokens;
    // before the first step the prompt alone is read: the next step finds room for one token more
    outlook.steps = static_cast<std::uint32_t>(std::max<std::size_t>(1, run.steps.size()));
    outlook.maxSteps = m_context.conversation.maxTokens();
    outlook.overflow = settings.overflow;
    outlook.sinkTokens = settings.sinkTokens;
    return contextWarning(outlook);
}

QString KvCachePanel::measuringBlockedBy(const Run &run) const
{
    const EngineState state = m_context.host.status().state;
    if (const QString reason = engineBusyReason(state); state != EngineState::Measuring && !reason.isEmpty())
        return reason;
    if (run.steps.empty())
        return tr("The reply has no step yet.");
    if (!(run.start.arithmetic == m_context.host.status().arithmetic))
        return tr("The reply was computed by other means (precision, types of keys and values, device): what "
                  "the cache alone does would not be seen.");
    const bool hasDropped = run.start.droppedTokens > 0 ||
                            std::any_of(run.steps.begin(), run.steps.end(),
                                        [](const StepRecord &step) { return step.droppedTokens > 0; });
    return hasDropped
               ? tr("Tokens left the context of this reply: its steps cannot be computed from their text.")
               : QString();
}

void KvCachePanel::showWork(const Run &run)
{
    WithoutCacheView *view = m_sections->withoutCache();
    const std::shared_ptr<const CacheWork> work = m_context.host.cacheWork();
    view->setWork(work && work->run == run.start.run ? work : nullptr);
    view->setBlockedBy(measuringBlockedBy(run));
    if (m_context.host.status().state == EngineState::Measuring) {
        view->showProgress(m_context.host.progress());
        if (!m_progress.isActive())
            m_progress.start();
    } else {
        m_progress.stop();
        view->hideProgress();
    }
}

void KvCachePanel::measure()
{
    if (const Run *run = shownRun(); run && measuringBlockedBy(*run).isEmpty())
        m_context.host.measureWithoutCache(run->start, run->steps);
}

void KvCachePanel::selectStep(RunId run, int step)
{
    m_context.selection.select({run, StepIndex(static_cast<std::uint32_t>(step))});
}

void KvCachePanel::activateBlock(int pool, int block)
{
    const std::shared_ptr<const CacheSnapshot> snapshot = m_context.host.cache();
    const Run *run = shownRun();
    if (!snapshot || !run)
        return;
    const auto poolIndex = static_cast<std::size_t>(pool);
    const BlockId id(static_cast<std::uint32_t>(block));
    const CacheSequence *owner = sequenceOf(*snapshot, run->start.run);
    if (!owner || !holds(*owner, poolIndex, id)) {
        const auto other =
            std::find_if(snapshot->sequences.begin(), snapshot->sequences.end(),
                         [&](const CacheSequence &sequence) { return holds(sequence, poolIndex, id); });
        run = other == snapshot->sequences.end() ? nullptr : m_context.runs.run(other->run);
    }
    if (!run)
        return; // of no open sequence, or of one without a run
    if (const auto step = firstStepIn(*run, snapshot->pools[poolIndex].blocks[std::size_t(block)]))
        selectStep(run->start.run, static_cast<int>(step->value()));
}

} // namespace tokenloupe
