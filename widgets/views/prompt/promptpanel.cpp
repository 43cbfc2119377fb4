// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/prompt/promptpanel.h"

#include "widgets/controls/tokentext.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/runstore.h"
#include "widgets/models/selectionstate.h"
#include "widgets/theme/numbers.h"

#include <QVBoxLayout>

namespace tokenloupe {

PromptPanel::PromptPanel(InspectorContext &context, QWidget *parent)
    : LivePanel(tr("Prompt as sent"), parent)
    , m_context(context)
{
    m_chips = new FlowChips(this);
    m_chips->setAccessibleName(tr("Tokens of the prompt"));
    m_chips->setProvider(this);
    content()->addWidget(m_chips);
    connect(&context.selection, &SelectionState::changed, this, &PromptPanel::scheduleRefresh);
    connect(&context.runs, &RunStore::runStarted, this, &PromptPanel::scheduleRefresh);
    connect(&context.runs, &RunStore::cleared, this, &PromptPanel::scheduleRefresh);
    refresh();
}

PromptPanel::~PromptPanel()
{
    m_chips->setProvider(nullptr);
}

const RunRecord *PromptPanel::record() const
{
    const Run *run = m_run.isValid() ? m_context.runs.run(m_run) : nullptr;
    return run ? &run->start : nullptr;
}

void PromptPanel::refresh()
{
    // Before the first token of a reply its prompt is already there.
    const StepRef selected = m_context.selection.current();
    const RunId run =
        m_context.selection.isLive() || !selected.isValid() ? m_context.runs.newestRun() : selected.run;
    const auto &model = m_context.host.status().model;
    m_tokenizer = model ? model->tokenizer : nullptr;
    const Run *found = run.isValid() ? m_context.runs.run(run) : nullptr;
    if (!found || !m_tokenizer) {
        m_run = {};
        m_shown = 0;
        m_chips->itemsReset();
        setSummary({});
        setEmptyState(
            tr("Send a message: the exact prompt that the model gets appears here, token by token."));
        return;
    }
    setEmptyState({});
    if (run != m_run || m_shown != found->start.prompt.size()) {
        m_run = run;
        m_shown = found->start.prompt.size();
        m_chips->itemsReset();
    }
    QString summary = tr("%1 tokens").arg(formatCount(m_shown));
    if (found->start.reusedTokens > 0)
        summary += tr(" · %1 from the cache").arg(formatCount(found->start.reusedTokens));
    setSummary(summary);
}

int PromptPanel::count() const
{
    return record() && m_tokenizer ? static_cast<int>(m_shown) : 0;
}

TokenChip PromptPanel::chip(int index) const
{
    const TokenId id = record()->prompt[std::size_t(index)];
    return {chipText(m_tokenizer->bytes(id), m_tokenizer->kind(id)), QString::number(id.value()),
            ChipState::Normal, false};
}

QString PromptPanel::tooltip(int index) const
{
    const RunRecord &start = *record();
    QString text = tokenDescription(*m_tokenizer, start.prompt[std::size_t(index)]);
    text += tr("\nposition %1").arg(index);
    if (static_cast<std::uint32_t>(index) < start.reusedTokens)
        text += tr(" · from the cache");
    return text;
}

QString PromptPanel::copyText(int first, int last) const
{
    return tokensText(*m_tokenizer, record()->prompt, first, last);
}

} // namespace tokenloupe
