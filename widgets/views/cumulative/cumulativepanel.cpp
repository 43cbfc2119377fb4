// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/cumulative/cumulativepanel.h"

#include "widgets/controls/tokenchip.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/explanationservice.h"
#include "widgets/models/runstore.h"
#include "widgets/models/selectionstate.h"
#include "widgets/plots/cumulativeplot.h"
#include "widgets/theme/numbers.h"

#include <QVBoxLayout>
#include <algorithm>

namespace tokenloupe {

namespace {

QString tokenLabel(const EngineStatus &status, TokenId token)
{
    if (!status.model || !token.isValid() || token.value() >= status.model->tokenizer->size())
        return QStringLiteral("#%1").arg(token.value());
    const Tokenizer &tokenizer = *status.model->tokenizer;
    return chipText(tokenizer.bytes(token), tokenizer.kind(token)).text;
}

} // namespace

CumulativePanel::CumulativePanel(InspectorContext &context, QWidget *parent)
    : LivePanel(tr("Cumulative and draw"), parent)
    , m_context(context)
{
    m_plot = new CumulativePlot(tr("Running sums of probability"));
    content()->addWidget(m_plot);
    connect(&context.explanations, &ExplanationService::changed, this, &CumulativePanel::scheduleRefresh);
    connect(&context.selection, &SelectionState::changed, this, &CumulativePanel::scheduleRefresh);
    connect(&context.runs, &RunStore::cleared, this, &CumulativePanel::scheduleRefresh);
    connect(&context.host, &EngineHost::statusChanged, this, &CumulativePanel::scheduleRefresh);
}

void CumulativePanel::refresh()
{
    if (const ExplanationPtr explanation = m_context.explanations.current()) {
        showExplanation(*explanation);
        return;
    }
    const QString reason = m_context.explanations.unavailableReason();
    const StepRef step = m_context.selection.current();
    if (step.isValid() && reason.isEmpty())
        return; // on its way; what is shown keeps its own heading
    m_plot->clear();
    setSummary({});
    if (!reason.isEmpty())
        setEmptyState(reason);
    else if (m_context.host.status().model)
        setEmptyState(tr("Send a message, then choose a token: here is how the draw fell on it."));
    else
        setEmptyState(tr("Open a model (Ctrl+O) or drop one here."), tr("Open a model…"));
}

void CumulativePanel::showExplanation(const StepExplanation &explanation)
{
    setEmptyState({});
    m_plot->setSums(explanation.rawCumulative, explanation.finalCumulative);
    std::optional<double> cut;
    QString cutLabel;
    for (const ExplainedStage &stage : explanation.stages)
        if (const auto *topP = std::get_if<TopPParams>(&stage.settings.params)) {
            cut = static_cast<double>(topP->p);
            cutLabel = QString::fromStdString(stage.label);
        }
    m_plot->setMassCut(cut, cutLabel);
    const auto drawn =
        std::find(explanation.finalIds.begin(), explanation.finalIds.end(), explanation.draw.token);
    const int index =
        drawn == explanation.finalIds.end() ? -1 : static_cast<int>(drawn - explanation.finalIds.begin());
    QString label = tokenLabel(m_context.host.status(), explanation.draw.token);
    if (explanation.chosen.isValid() && explanation.chosen != explanation.draw.token)
        label = tr("%1 (taken: %2)").arg(label, tokenLabel(m_context.host.status(), explanation.chosen));
    m_plot->setDraw(explanation.draw.u, index, tr("draw u = %1").arg(explanation.draw.u, 0, 'f', 4), label);
    setSummary(
        tr("entropy %1 bits · step %2")
            .arg(QString::number(explanation.rawEntropyBits, 'f', 2), formatStep(explanation.ref.step)));
}

} // namespace tokenloupe
