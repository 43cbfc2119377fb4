// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/timeline/timelinepanel.h"

#include "widgets/models/devicetext.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/runstore.h"
#include "widgets/models/selectionstate.h"
#include "widgets/plots/stackedtimeplot.h"
#include "widgets/theme/numbers.h"
#include "widgets/views/timeline/stepdetails.h"

#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

TimeSplit splitOf(const StepRecord &record)
{
    return {record.forwardMs, record.sampleMs, record.otherMs};
}

// Nearest rank: the smallest value that at least `share` of all are not above.
double quantile(std::vector<double> &values, double share)
{
    const auto index =
        static_cast<std::size_t>(std::max(1.0, std::ceil(share * static_cast<double>(values.size())))) - 1;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index), values.end());
    return values[index];
}

} // namespace

TimelineStatistics timelineStatistics(const Run &run)
{
    TimelineStatistics result;
    if (run.steps.empty())
        return result;
    result.firstTokenMs = run.start.tokenizeMs + run.start.prefillMs + splitOf(run.steps.front()).total();
    std::vector<double> totals;
    totals.reserve(run.steps.size());
    double sum = 0.0;
    for (std::size_t i = 1; i < run.steps.size(); ++i) {
        totals.push_back(splitOf(run.steps[i]).total());
        sum += totals.back();
    }
    if (totals.empty())
        return result;
    result.medianMs = quantile(totals, 0.5);
    result.p99Ms = quantile(totals, 0.99);
    result.tokensPerSecond = sum > 0.0 ? 1000.0 * static_cast<double>(totals.size()) / sum : 0.0;
    return result;
}

TimelinePanel::TimelinePanel(InspectorContext &context, QWidget *parent)
    : LivePanel(tr("Timeline"), parent)
    , m_context(context)
{
    m_plot = new StackedTimePlot(tr("Time of every token"));
    m_plot->setDetails([this](int token) { return tooltipOf(token); });
    m_details = new StepDetails;
    content()->addWidget(m_plot, 1);
    content()->addWidget(m_details);
    addSwitch();
    connect(&context.runs, &RunStore::updated, this, &TimelinePanel::scheduleRefresh);
    connect(&context.runs, &RunStore::truncated, this, [this](RunId run, int from) {
        if (run != m_run)
            return;
        m_steps = std::min(m_steps, static_cast<std::size_t>(from));
        m_plot->truncate(static_cast<int>(m_steps));
    });
    const auto forget = [this] {
        m_run = {};
        scheduleRefresh();
    };
    connect(&context.runs, &RunStore::cleared, this, forget);
    connect(&context.runs, &RunStore::runStarted, this, forget);
    connect(&context.selection, &SelectionState::changed, this, &TimelinePanel::scheduleRefresh);
    connect(&context.host, &EngineHost::statusChanged, this, &TimelinePanel::scheduleRefresh);
    connect(m_plot, &StackedTimePlot::tokenClicked, this, [this](int token) {
        m_context.selection.select({m_run, StepIndex(static_cast<std::uint32_t>(token))});
    });
}

void TimelinePanel::addSwitch()
{
    auto *button = new QToolButton(this);
    button->setText(tr("Kernel times"));
    button->setCheckable(true);
    button->setAutoRaise(true);
    button->setFocusPolicy(Qt::TabFocus);
    button->setToolTip(
        tr("Times every operation of the forward pass from the next token on. The tokens are the "
           "same; on a device each operation is then started by itself, which takes longer."));
    connect(button, &QToolButton::clicked, this,
            [this](bool isOn) { m_context.host.measureOperations(isOn ? Measuring::On : Measuring::Off); });
    addHeadingWidget(button);
}

void TimelinePanel::showDetails(const Run &run)
{
    const StepRef selected = m_context.selection.current();
    const StepRecord *step =
        selected.isValid() && selected.run == m_run ? m_context.runs.record(selected) : nullptr;
    if (step)
        m_details->showStep(run.start, *step);
    else
        m_details->clear();
}

QString TimelinePanel::tooltipOf(int token) const
{
    const Run *run = m_context.runs.run(m_run);
    if (!run || std::size_t(token) >= run->steps.size())
        return {};
    const StepRecord &step = run->steps[std::size_t(token)];
    QStringList lines{bandwidthDetails(run->start, step), operationLines(operationsOf(run->start, step))};
    lines.removeAll(QString());
    return lines.join(QLatin1Char('\n'));
}

const Run *TimelinePanel::shownRun() const
{
    const RunId id =
        m_context.selection.isLive() ? m_context.runs.newestRun() : m_context.selection.current().run;
    return m_context.runs.run(id);
}

void TimelinePanel::refresh()
{
    const Run *run = shownRun();
    if (!run) {
        setSummary({});
        if (m_context.host.status().model)
            setEmptyState(
                tr("Send a message: every token's time is shown here, and a click selects its step."));
        else
            setEmptyState(tr("Open a model (Ctrl+O) or drop one here."), tr("Open a model…"));
        return;
    }
    setEmptyState({});
    if (m_run != run->start.run) {
        m_run = run->start.run;
        m_steps = 0;
        m_plot->clear();
        m_plot->setPrefill(run->start.prefillMs);
    }
    std::vector<TimeSplit> fresh;
    for (; m_steps < run->steps.size(); ++m_steps)
        fresh.push_back(splitOf(run->steps[m_steps]));
    m_plot->append(fresh);
    const StepRef selected = m_context.selection.current();
    m_plot->setSelected(selected.isValid() && selected.run == m_run ? static_cast<int>(selected.step.value())
                                                                    : -1);

    showDetails(*run);

    const TimelineStatistics statistics = timelineStatistics(*run);
    QStringList parts;
    if (selected.isValid() && selected.run == m_run)
        parts << tr("step %1").arg(formatCount(std::uint64_t(selected.step.value()) + 1));
    if (!run->steps.empty())
        parts << tr("first token %1").arg(formatMilliseconds(statistics.firstTokenMs));
    if (statistics.tokensPerSecond > 0.0)
        parts << tr("median %1, p99 %2")
                     .arg(formatSignificant(statistics.medianMs, 3), formatMilliseconds(statistics.p99Ms))
              << formatRate(statistics.tokensPerSecond, tr("tok/s"));
    if (const auto &model = m_context.host.status().model)
        parts << computedByText(run->start.arithmetic, model->config().layers);
    setSummary(parts.join(QStringLiteral(" · ")));
}

} // namespace tokenloupe
