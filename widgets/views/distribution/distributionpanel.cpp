// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/distribution/distributionpanel.h"

#include "widgets/controls/celltable.h"
#include "widgets/controls/tokenchip.h"
#include "widgets/models/candidatemodel.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/runstore.h"
#include "widgets/models/selectionstate.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/distribution/candidatedelegate.h"
#include "widgets/views/distribution/stageheader.h"

#include <QAction>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QToolTip>
#include <QVBoxLayout>

namespace tokenloupe {

DistributionPanel::DistributionPanel(InspectorContext &context, QWidget *parent)
    : LivePanel(tr("Distribution"), parent)
    , m_context(context)
{
    m_model = new CandidateModel(this);
    m_table = new CellTable(tr("Candidates of the selected step"), this);
    m_table->setHorizontalHeader(new StageHeader(m_table));
    m_table->setModel(m_model);
    m_table->setItemDelegate(new CandidateDelegate(m_table));
    m_table->setContextMenuPolicy(Qt::CustomContextMenu);
    m_table->viewport()->installEventFilter(this);
    m_table->installEventFilter(this);
    content()->addWidget(m_table);

    connect(m_table, &QAbstractItemView::clicked, this, &DistributionPanel::take);
    connect(m_table, &QWidget::customContextMenuRequested, this, &DistributionPanel::showMenu);
    connect(m_model, &QAbstractItemModel::modelReset, this, &DistributionPanel::layOutColumns);
    connect(m_table, &CellTable::rowHovered, this, &DistributionPanel::refreshCursor);
    connect(&context.explanations, &ExplanationService::changed, this, &DistributionPanel::scheduleRefresh);
    connect(&context.host, &EngineHost::statusChanged, this, &DistributionPanel::scheduleRefresh);
    connect(&Theme::instance(), &Theme::changed, this, &DistributionPanel::layOutColumns);
    refresh();
}

void DistributionPanel::refresh()
{
    const ExplanationPtr explanation = m_context.explanations.current();
    m_model->setExplanation(explanation, m_context.host.status().model);
    if (!explanation) {
        const QString reason = m_context.explanations.unavailableReason();
        setEmptyState(!reason.isEmpty() ? reason
                      : m_context.host.status().model
                          ? tr("Send a message: the candidates of each token appear here.")
                          : tr("Open a model to see how it chooses its tokens."));
        setSummary({});
        return;
    }
    setEmptyState({});
    QString summary =
        tr("% of probability, after each stage · step %1").arg(formatStep(explanation->ref.step));
    if (m_context.explanations.whatIf())
        summary = tr("what if: the settings of now · step %1").arg(formatStep(explanation->ref.step));
    else if (canTake())
        summary = tr("click a token to take it · step %1").arg(formatStep(explanation->ref.step));
    setSummary(summary);
    refreshCursor();
}

bool DistributionPanel::canTake() const
{
    const EngineStatus &status = m_context.host.status();
    // What is shown may still be of the step that was selected before.
    return status.state == EngineState::Paused && m_context.selection.current().run == status.run &&
           m_context.runs.record(m_context.selection.current()) && m_model->explanation() &&
           m_model->explanation()->ref == m_context.selection.current();
}

void DistributionPanel::refreshCursor()
{
    m_table->viewport()->setCursor(canTake() && m_table->hoveredRow() >= 0 ? Qt::PointingHandCursor
                                                                           : Qt::ArrowCursor);
}

void DistributionPanel::take(const QModelIndex &index)
{
    if (!index.isValid() || !canTake() || index.data(CandidateModel::ChosenRole).toBool())
        return;
    m_context.host.force(m_model->explanation()->ref.step,
                         TokenId(index.data(CandidateModel::TokenIdRole).toUInt()));
    m_context.selection.followLive();
}

void DistributionPanel::showMenu(const QPoint &position)
{
    const QModelIndex index = m_table->indexAt(position);
    if (!index.isValid())
        return;
    QMenu menu(this);
    const EngineStatus &status = m_context.host.status();
    const StepRef ref = m_model->explanation()->ref;
    const TokenId id(index.data(CandidateModel::TokenIdRole).toUInt());
    QAction *taking = menu.addAction(tr("Take this token and go on from here"));
    taking->setEnabled(ref.run == status.run && !index.data(CandidateModel::ChosenRole).toBool() &&
                       (status.state == EngineState::Paused || status.state == EngineState::Idle));
    connect(taking, &QAction::triggered, this, [this, ref, id] {
        m_context.host.force(ref.step, id);
        m_context.selection.followLive();
    });
    menu.exec(m_table->viewport()->mapToGlobal(position));
}

bool DistributionPanel::eventFilter(QObject *watched, QEvent *event)
{
    if (watched == m_table && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent *>(event)->key();
        if (key == Qt::Key_Return || key == Qt::Key_Enter) {
            take(m_table->currentIndex());
            return true;
        }
    }
    if (watched == m_table->viewport() && event->type() == QEvent::Resize)
        layOutColumns();
    if (watched == m_table->viewport() && event->type() == QEvent::ToolTip) {
        const auto *help = static_cast<QHelpEvent *>(event);
        const QModelIndex index = m_table->indexAt(help->pos());
        if (!index.isValid() || !m_model->tokenizer()) {
            QToolTip::hideText();
            return true;
        }
        const ExplainedCandidate &candidate = m_model->explanation()->candidates[std::size_t(index.row())];
        const std::string_view bytes = m_model->tokenizer()->bytes(candidate.id);
        const QByteArray hex =
            QByteArray(bytes.data(), static_cast<qsizetype>(std::min<std::size_t>(bytes.size(), 32)))
                .toHex(' ');
        QStringList lines{
            tr("token %1 · bytes %2").arg(candidate.id.value()).arg(QString::fromLatin1(hex.toUpper())),
            tr("raw: logit %1, %2 %, rank %3")
                .arg(QString::number(double(candidate.logit), 'g', 7),
                     QString::number(candidate.pRaw * 100.0, 'g', 5))
                .arg(candidate.rank + 1)};
        const auto &stages = m_model->explanation()->stages;
        for (std::size_t i = 0; i < stages.size(); ++i) {
            const QString label = QString::fromStdString(stages[i].label);
            if (candidate.removedBy >= 0 && std::size_t(candidate.removedBy) == i) {
                lines << tr("%1: removed").arg(label);
                break;
            }
            lines << tr("%1: logit %2, %3 %")
                         .arg(label, QString::number(double(candidate.logitStage[i]), 'g', 7),
                              QString::number(candidate.pStage[i] * 100.0, 'g', 5));
        }
        QToolTip::showText(help->globalPos(), lines.join(QLatin1Char('\n')), m_table);
        return true;
    }
    return LivePanel::eventFilter(watched, event);
}

void DistributionPanel::layOutColumns()
{
    const Theme &theme = Theme::instance();
    const int columns = m_model->columnCount();
    if (columns <= CandidateModel::RawColumn)
        return;
    const int stages = columns - CandidateModel::RawColumn;
    const int rank = theme.scaled(30);
    const int logit = theme.scaled(58);
    const int available = m_table->viewport()->width() - rank - logit;
    const int leastStage = theme.scaled(76);
    // The token column takes a fifth, but gives way to the stages down to what a usual chip needs.
    const int token = std::clamp(available - stages * leastStage, theme.scaled(96),
                                 std::max(theme.scaled(96), available / 5));
    m_table->setColumnWidth(CandidateModel::RankColumn, rank);
    m_table->setColumnWidth(CandidateModel::TokenColumn, token);
    m_table->setColumnWidth(CandidateModel::LogitColumn, logit);
    const int each = std::max(leastStage, (available - token) / stages);
    for (int column = CandidateModel::RawColumn; column < columns; ++column)
        m_table->setColumnWidth(column, each);
}

} // namespace tokenloupe
