// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/distribution/vocabularypanel.h"

#include "widgets/controls/tokenchip.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/explanationservice.h"
#include "widgets/plots/rankplot.h"
#include "widgets/theme/numbers.h"

#include <QVBoxLayout>

namespace tokenloupe {

VocabularyPanel::VocabularyPanel(InspectorContext &context, QWidget *parent)
    : LivePanel(tr("Whole vocabulary"), parent)
    , m_context(context)
{
    m_plot = new RankPlot(tr("Probability of every token by rank"), this);
    content()->addWidget(m_plot);
    connect(&context.explanations, &ExplanationService::changed, this, &VocabularyPanel::scheduleRefresh);
    refresh();
}

void VocabularyPanel::refresh()
{
    const ExplanationPtr explanation = m_context.explanations.current();
    const auto &model = m_context.host.status().model;
    if (!explanation || !model) {
        setEmptyState(tr("Send a message: every token of the vocabulary appears here, by rank."));
        setSummary({});
        m_plot->clear();
        return;
    }
    setEmptyState({});
    m_plot->setProbabilities(explanation->rawByRank);
    for (const ExplainedCandidate &candidate : explanation->candidates) {
        if (candidate.id == explanation->chosen) {
            const Tokenizer &tokenizer = *model->tokenizer;
            m_plot->setChosen(int(candidate.rank),
                              chipText(tokenizer.bytes(candidate.id), tokenizer.kind(candidate.id)).text);
        }
    }
    // A cut is a place on the rank axis only while the order is still the raw one: up to the first stage that
    // changes single logits.
    std::vector<RankCut> cuts;
    std::uint32_t alive = static_cast<std::uint32_t>(explanation->rawByRank.size());
    bool rawOrder = true;
    for (const ExplainedStage &stage : explanation->stages) {
        const StageKind kind = stage.settings.kind();
        if (kind == StageKind::LogitBias || kind == StageKind::Penalties)
            rawOrder = false;
        if (rawOrder && stage.candidates < alive)
            cuts.push_back(
                {double(stage.candidates), QString::fromStdString(stage.label), stageFamily(kind)});
        alive = stage.candidates;
    }
    m_plot->setCuts(std::move(cuts));
    setSummary(tr("%1 tokens · raw entropy %2 bits · step %3")
                   .arg(formatCount(explanation->rawByRank.size()),
                        QString::number(explanation->rawEntropyBits, 'f', 2))
                   .arg(formatStep(explanation->ref.step)));
}

} // namespace tokenloupe
