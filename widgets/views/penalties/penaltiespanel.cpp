// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/penalties/penaltiespanel.h"

#include "widgets/controls/celltable.h"
#include "widgets/controls/tokencelldelegate.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/penaltymodel.h"
#include "widgets/models/samplermodel.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QEvent>
#include <QVBoxLayout>

namespace tokenloupe {

PenaltiesPanel::PenaltiesPanel(InspectorContext &context, QWidget *parent)
    : LivePanel(tr("Penalties"), parent)
    , m_context(context)
{
    m_model = new PenaltyModel(this);
    m_table = new CellTable(tr("Penalised tokens"), this);
    m_table->setModel(m_model);
    m_delegate = new TokenCellDelegate(m_table);
    m_table->setItemDelegate(m_delegate);
    m_table->viewport()->installEventFilter(this);
    content()->addWidget(m_table);
    connect(&context.explanations, &ExplanationService::changed, this, &PenaltiesPanel::scheduleRefresh);
    connect(&context.sampler, &SamplerModel::settingsChanged, this, &PenaltiesPanel::scheduleRefresh);
    connect(&Theme::instance(), &Theme::changed, m_table->viewport(), qOverload<>(&QWidget::update));
    refresh();
}

void PenaltiesPanel::refresh()
{
    const ExplanationPtr explanation = m_context.explanations.current();
    const auto &loaded = m_context.host.status().model;
    m_delegate->setTokenizer(loaded ? loaded->tokenizer : nullptr);
    m_model->setExplanation(explanation, loaded);
    const StageSettings *now = m_context.sampler.settings()->find(StageKind::Penalties);
    const StageSettings *shown = explanation ? explanation->settings->find(StageKind::Penalties) : now;
    if (!shown || !shown->isActive()) {
        setSummary(tr("off"));
        setEmptyState(
            now && now->isActive()
                ? tr("Penalties were off at this step.")
                : tr("Penalties are off. Set a repeat, presence or frequency penalty in the sampler chain."));
        return;
    }
    const std::int32_t window = std::get<PenaltiesParams>(shown->params).lastN;
    setSummary(window < 0 ? tr("whole context")
                          : tr("last %1").arg(counted(std::uint64_t(window), tr("token"), tr("tokens"))));
    setEmptyState(m_model->rowCount() == 0 ? tr("No step is selected.") : QString());
    layOutColumns();
}

bool PenaltiesPanel::eventFilter(QObject *watched, QEvent *event)
{
    // The viewport, not the panel: a scroll bar that comes or goes changes the room too.
    if (watched == m_table->viewport() && event->type() == QEvent::Resize)
        layOutColumns();
    return LivePanel::eventFilter(watched, event);
}

void PenaltiesPanel::layOutColumns()
{
    const Theme &theme = Theme::instance();
    const int count = theme.scaled(38);
    const int number = theme.scaled(48);
    const int token = std::max(theme.scaled(56), m_table->viewport()->width() - count - 3 * number);
    m_table->setColumnWidth(PenaltyModel::TokenColumn, token);
    m_table->setColumnWidth(PenaltyModel::CountColumn, count);
    for (const int column :
         {PenaltyModel::BeforeColumn, PenaltyModel::AfterColumn, PenaltyModel::ChangeColumn})
        m_table->setColumnWidth(column, number);
}

} // namespace tokenloupe
