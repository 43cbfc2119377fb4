// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/precision/precisionpanel.h"

#include "engine/compare/precisioncomparison.h"
#include "engine/compute/packedweights.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/controls/progressstrip.h"
#include "widgets/controls/segmenttabs.h"
#include "widgets/controls/tokenchip.h"
#include "widgets/models/devicetext.h"
#include "widgets/models/enginestatetext.h"
#include "widgets/models/runstore.h"
#include "widgets/models/selectionstate.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/precision/stepcomparisonview.h"
#include "widgets/views/precision/textcomparisonview.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

namespace tokenloupe {

namespace {

constexpr int pollMs = 60;

std::vector<TokenId> textOf(const Run &run)
{
    return run.historyBefore(StepIndex(static_cast<std::uint32_t>(run.steps.size())));
}

/// Whether a run's logits up to `steps` are those of its text alone.
bool sawWholeText(const Run &run, std::size_t steps)
{
    return run.start.droppedTokens == 0 &&
           std::all_of(
               run.steps.begin(), run.steps.begin() + std::ptrdiff_t(std::min(steps, run.steps.size())),
               [](const StepRecord &step) { return step.droppedTokens == 0 && step.droppedTurns == 0; });
}

QString chipTextOf(TokenId id, const Tokenizer *tokenizer)
{
    if (!tokenizer || id.value() >= tokenizer->size())
        return QString::number(id.value());
    return chipText(tokenizer->bytes(id), tokenizer->kind(id)).text;
}

} // namespace

PrecisionPanel::PrecisionPanel(InspectorContext &context, QWidget *parent)
    : LivePanel(tr("Precisions"), parent)
    , m_context(context)
{
    const Theme &theme = Theme::instance();
    m_store = new ComparisonStore(context.host, context.runs, this);
    auto *row = new QHBoxLayout;
    row->setSpacing(theme.scaled(8));
    m_tabs = new SegmentTabs(tr("What is compared"));
    m_tabs->addTab(tr("This step"));
    m_tabs->addTab(tr("Whole text"));
    row->addWidget(m_tabs);
    m_note = new ElidedLabel(this);
    m_note->setFont(theme.font(TextRole::Small));
    m_note->setForegroundRole(QPalette::PlaceholderText);
    m_note->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_note->setAccessibleName(tr("What comparing takes"));
    row->addWidget(m_note, 1);
    m_compare = new QPushButton(this);
    row->addWidget(m_compare);
    content()->addLayout(row);
    m_pages = new QStackedWidget(this);
    m_step = new StepComparisonView;
    m_text = new TextComparisonView;
    m_pages->addWidget(m_step);
    m_pages->addWidget(m_text);
    content()->addWidget(m_pages, 1);
    m_progress = new ProgressStrip(this);
    m_progress->setTitle(tr("Computing in both precisions"));
    m_progress->hide();
    content()->addWidget(m_progress);

    m_poll.setInterval(pollMs);
    connect(&m_poll, &QTimer::timeout, this, &PrecisionPanel::showProgress);
    connect(m_progress, &ProgressStrip::cancelRequested, &context.host, &EngineHost::cancelWork);
    connect(m_tabs, &QTabBar::currentChanged, this, &PrecisionPanel::scheduleRefresh);
    connect(m_text, &TextComparisonView::positionClicked, this, &PrecisionPanel::selectPosition);
    connect(m_compare, &QPushButton::clicked, this, [this] {
        request(m_tabs->currentIndex() == StepPage ? ComparedPositions::Last : ComparedPositions::All);
    });
    connect(m_store, &ComparisonStore::changed, this, &PrecisionPanel::scheduleRefresh);
    connect(&context.selection, &SelectionState::changed, this, [this] {
        m_promptPosition.reset();
        scheduleRefresh();
    });
    connect(&context.runs, &RunStore::updated, this, &PrecisionPanel::scheduleRefresh);
    connect(&context.host, &EngineHost::statusChanged, this, &PrecisionPanel::scheduleRefresh);
    refresh();
}

PrecisionPanel::Place PrecisionPanel::place() const
{
    const StepRef selected = m_context.selection.current();
    Place place;
    place.run = m_context.runs.run(m_context.selection.isLive() ? m_context.runs.newestRun() : selected.run);
    if (!place.run)
        return place;
    if (m_promptPosition)
        place.position = m_promptPosition;
    else if (selected.run == place.run->start.run && selected.step.value() < place.run->steps.size())
        place.position = ComparisonStore::positionOf(*place.run, selected.step);
    return place;
}

QString PrecisionPanel::blockedBy() const
{
    // A comparison that is under way gives way to the next one.
    const EngineState state = m_context.host.status().state;
    return state == EngineState::Comparing ? QString() : engineBusyReason(state);
}

void PrecisionPanel::request(ComparedPositions positions)
{
    const Place at = place();
    if (!at.run || !blockedBy().isEmpty() || (positions == ComparedPositions::Last && !at.position))
        return;
    CompareRequest request;
    request.run = at.run->start.run;
    request.arithmetic = at.run->start.arithmetic;
    request.tokens = textOf(*at.run);
    request.positions = positions;
    if (positions == ComparedPositions::Last) {
        request.tokens.resize(std::size_t(*at.position) + 1);
        const StepIndex step = ComparisonStore::stepAt(*at.run, *at.position);
        if (step.isValid() && sawWholeText(*at.run, step.value() + 1))
            request.kept = {at.run->start.run, step};
    }
    m_context.host.comparePrecisions(request);
}

void PrecisionPanel::compareStep()
{
    m_tabs->setCurrentIndex(StepPage);
    const Place at = place();
    if (at.position && !m_store->position(at.run->start.run, *at.position))
        request(ComparedPositions::Last);
}

void PrecisionPanel::compareText()
{
    m_tabs->setCurrentIndex(TextPage);
    request(ComparedPositions::All);
}

void PrecisionPanel::selectPosition(int position)
{
    const Place at = place();
    if (!at.run)
        return;
    const StepIndex step = ComparisonStore::stepAt(*at.run, static_cast<std::uint32_t>(position));
    if (step.isValid()) {
        m_promptPosition.reset();
        m_context.selection.select({at.run->start.run, step});
    } else {
        m_promptPosition = static_cast<std::uint32_t>(position);
    }
    scheduleRefresh();
}

void PrecisionPanel::refresh()
{
    const EngineStatus &status = m_context.host.status();
    const Place at = place();
    m_pages->setCurrentIndex(m_tabs->currentIndex());
    if (!at.run) {
        setSummary({});
        if (status.model)
            setEmptyState(
                tr("Send a message: any step of the reply can be computed in both precisions, exact "
                   "and fast, and compared."));
        else
            setEmptyState(tr("Open a model (Ctrl+O) or drop a GGUF file here."), tr("Open a model…"));
        return;
    }
    setEmptyState({});
    if (m_tabs->currentIndex() == StepPage)
        refreshStep(at);
    else
        refreshText(at);
    QStringList parts;
    if (const auto compared = at.position ? m_store->position(at.run->start.run, *at.position) : nullptr)
        parts << tr("KL %1 nats").arg(formatSignificant(compared->divergence.kl, 3));
    if (at.position) {
        const StepIndex step = ComparisonStore::stepAt(*at.run, *at.position);
        parts << (step.isValid() ? tr("step %1").arg(formatStep(step))
                                 : tr("position %1").arg(formatCount(std::uint64_t(*at.position) + 1)));
    }
    const RunArithmetic &arithmetic = at.run->start.arithmetic;
    if (!at.run->start.prompt.empty())
        parts << (arithmetic.precision == Precision::Fast ? tr("a fast reply") : tr("an exact reply"));
    if (status.model)
        parts << computedByText(arithmetic, status.model->config().layers);
    setSummary(parts.join(QStringLiteral(" · ")));
    refreshRequest(at);
}

void PrecisionPanel::refreshStep(const Place &place)
{
    const auto &model = m_context.host.status().model;
    const auto compared = place.position ? m_store->position(place.run->start.run, *place.position) : nullptr;
    if (!compared) {
        m_step->setExplanation(
            place.position ? tr("What would the other precision have said here? The text up to this step is "
                                "computed once more beside the reply, which stays as it is.")
                           : tr("The reply has no step yet: take one (F10), or compare the whole text."));
        return;
    }
    const std::vector<TokenId> text = textOf(*place.run);
    const std::size_t next = std::size_t(*place.position) + 1;
    m_step->setPosition(compared, next < text.size() ? std::optional(text[next]) : std::nullopt,
                        model ? model->tokenizer : nullptr);
}

void PrecisionPanel::refreshText(const Place &place)
{
    const auto &model = m_context.host.status().model;
    const std::vector<ComparisonStore::Position> positions = m_store->positions(*place.run);
    const std::vector<TokenId> ids = textOf(*place.run);
    TextComparisonView::Text text;
    for (std::size_t i = 0; i < positions.size(); ++i) {
        if (!positions[i])
            continue;
        text.totals.add(positions[i]->divergence);
        text.bars.push_back({static_cast<int>(i), positions[i]->divergence.kl,
                             chipTextOf(ids[i], model ? model->tokenizer.get() : nullptr)});
    }
    if (text.bars.empty()) {
        m_text->setExplanation(
            tr("Prompt and reply are computed in both precisions in one pass: the "
               "divergence at every position, their mean and the largest. A click on a bar "
               "selects its step."));
        return;
    }
    text.length = static_cast<int>(positions.size());
    text.promptLength = static_cast<int>(place.run->start.prompt.size());
    text.selected = place.position ? static_cast<int>(*place.position) : -1;
    m_text->setText(std::move(text));
}

QString PrecisionPanel::noteFor(const Place &place) const
{
    const EngineStatus &status = m_context.host.status();
    if (!status.model)
        return {};
    QStringList parts;
    if (packingPlan(*status.model->model).matrices.empty())
        parts << tr("this model has no weights for kernels of integers: both are the same");
    const bool isStep = m_tabs->currentIndex() == StepPage;
    if (!sawWholeText(*place.run, place.run->steps.size()))
        parts << tr("tokens left the context of this reply; here both see the whole text");
    const RunArithmetic &arithmetic = place.run->start.arithmetic;
    if (!arithmetic.device.empty())
        parts << tr("both are computed on the CPU (the reply: %1)")
                     .arg(computedByText(arithmetic, status.model->config().layers));
    const Precision loaded = status.session.precision;
    const PrecisionComparison comparison(status.model, arithmetic, loaded, status.session.threads);
    const auto memory =
        isStep ? comparison.memoryOfLast(std::size_t(*place.position) + 1, otherPrecision(loaded))
               : comparison.memoryOfAll(ComparisonStore::textLength(*place.run));
    if (!memory)
        return QString::fromStdString(memory.error().text());
    QString takes = tr("takes %1 while it runs").arg(formatBytes(memory->total()));
    if (memory->weightBytes > 0)
        takes += (loaded == Precision::Fast ? tr(", %1 of it for the weights as the file has them")
                                            : tr(", %1 of it for weights laid out for the fast kernels"))
                     .arg(formatBytes(memory->weightBytes));
    parts << takes;
    return parts.join(QStringLiteral(" · "));
}

void PrecisionPanel::refreshRequest(const Place &place)
{
    const bool isStep = m_tabs->currentIndex() == StepPage;
    const bool comparing = m_context.host.status().state == EngineState::Comparing;
    m_progress->setVisible(comparing);
    if (comparing && !m_poll.isActive()) {
        showProgress();
        m_poll.start();
    } else if (!comparing) {
        m_poll.stop();
    }
    const std::vector<ComparisonStore::Position> positions = m_store->positions(*place.run);
    const auto done = static_cast<std::size_t>(
        std::count_if(positions.begin(), positions.end(), [](const auto &p) { return p != nullptr; }));
    const bool isThere =
        isStep ? !place.position || m_store->position(place.run->start.run, *place.position) != nullptr
               : done == positions.size();
    const bool offers = !isThere && !comparing;
    m_compare->setVisible(offers);
    m_note->setVisible(offers);
    if (!offers)
        return;
    const QString reason = blockedBy();
    m_compare->setText(isStep      ? tr("Compare this step")
                       : done == 0 ? tr("Compare the whole text")
                                   : tr("Compare all positions"));
    m_compare->setEnabled(reason.isEmpty());
    m_compare->setToolTip(reason);
    m_note->setText(reason.isEmpty() ? noteFor(place) : reason);
}

void PrecisionPanel::showProgress()
{
    const EngineProgress progress = m_context.host.progress();
    m_progress->setProgress(
        progress.done, progress.total, progress.seconds,
        progress.total > 0
            ? tr("%1 of %2 tokens").arg(formatCount(progress.done), formatCount(progress.total))
            : QString());
}

} // namespace tokenloupe
