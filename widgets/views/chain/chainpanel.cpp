// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/chain/chainpanel.h"

#include "widgets/models/enginehost.h"
#include "widgets/models/explanationservice.h"
#include "widgets/models/runstore.h"
#include "widgets/models/samplermodel.h"
#include "widgets/models/selectionstate.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/chain/drawcard.h"
#include "widgets/views/chain/stagedelegate.h"
#include "widgets/views/chain/stageeditor.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QRegularExpressionValidator>
#include <QScrollArea>
#include <QToolButton>
#include <QVBoxLayout>

namespace tokenloupe {

ChainPanel::ChainPanel(InspectorContext &context, QWidget *parent)
    : LivePanel(tr("Sampler chain"), parent)
    , m_context(context)
{
    const Theme &theme = Theme::instance();

    // One scroll area for all: stages, draw, fields. Small docks scroll, nothing is squeezed.
    auto *area = new QScrollArea(this);
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto *inner = new QWidget(area);
    auto *layout = new QVBoxLayout(inner);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    area->setWidget(inner);
    // After setWidget(), which switches it on: the panel's own ground shows through.
    area->viewport()->setAutoFillBackground(false);
    inner->setAutoFillBackground(false);
    content()->addWidget(area);

    m_list = new QListView(inner);
    m_list->setModel(&context.sampler);
    m_delegate = new StageDelegate(m_list);
    m_list->setItemDelegate(m_delegate);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setAccessibleName(tr("Stages of the sampler chain"));
    m_list->setDragDropMode(QAbstractItemView::InternalMove);
    m_list->setDefaultDropAction(Qt::MoveAction);
    m_list->setDragDropOverwriteMode(false);
    m_list->setSelectionMode(QAbstractItemView::SingleSelection);
    m_list->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_list->setUniformItemSizes(true);
    m_list->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->viewport()->setAutoFillBackground(false);
    m_list->viewport()->setMouseTracking(true);
    m_list->installEventFilter(this);
    layout->addWidget(m_list);
    m_draw = new DrawCard(inner);
    layout->addWidget(m_draw);
    buildSeedRow();
    m_editor = new StageEditor(inner);
    layout->addWidget(m_editor);
    m_note = new QLabel(inner);
    m_note->setFont(theme.font(TextRole::Small));
    m_note->setForegroundRole(QPalette::PlaceholderText);
    m_note->setWordWrap(true);
    layout->addSpacing(theme.scaled(8));
    layout->addWidget(m_note);
    layout->addStretch(1);

    auto *menu = new QMenu(this);
    connect(menu->addAction(tr("llama.cpp order, defaults")), &QAction::triggered, this,
            [this] { m_context.sampler.setSettings(SamplerSettings::defaults()); });
    connect(menu->addAction(tr("Temperature first (Transformers)")), &QAction::triggered, this, [this] {
        SamplerSettings settings = *m_context.sampler.settings();
        std::stable_partition(settings.stages.begin(), settings.stages.end(), [](const StageSettings &stage) {
            return stage.kind() == StageKind::LogitBias || stage.kind() == StageKind::Penalties ||
                   stage.kind() == StageKind::Temperature;
        });
        m_context.sampler.setSettings(settings);
    });
    connect(menu->addAction(tr("Greedy")), &QAction::triggered, this, [this] {
        SamplerSettings settings = *m_context.sampler.settings();
        if (StageSettings *temperature = settings.find(StageKind::Temperature))
            *temperature = {TemperatureParams{0.0F}, StageSwitch::On};
        m_context.sampler.setSettings(settings);
    });
    connect(menu->addAction(tr("All stages off")), &QAction::triggered, this, [this] {
        SamplerSettings settings = *m_context.sampler.settings();
        for (StageSettings &stage : settings.stages)
            stage.state = StageSwitch::Off;
        m_context.sampler.setSettings(settings);
    });
    auto *order = new QToolButton(this);
    order->setText(tr("Presets"));
    order->setAutoRaise(true);
    order->setMenu(menu);
    order->setPopupMode(QToolButton::InstantPopup);
    addHeadingWidget(order);

    connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this, &ChainPanel::showStage);
    connect(&context.sampler, &QAbstractItemModel::modelReset, this, [this] {
        m_list->setCurrentIndex(m_context.sampler.index(0));
        showStage();
    });
    connect(&context.sampler, &SamplerModel::settingsChanged, this, [this] {
        showStage();
        followSeed();
        scheduleRefresh();
    });
    connect(m_editor, &StageEditor::edited, this, [this](const StageSettings &stage) {
        for (int row = 0; row < m_context.sampler.rowCount(); ++row) {
            if (m_context.sampler.stage(row).kind() == stage.kind())
                m_context.sampler.setStage(row, stage);
        }
    });
    connect(m_editor, &StageEditor::rejected, this,
            [this](const QString &message) { Q_EMIT m_context.sampler.stageRejected(0, message); });
    connect(&context.explanations, &ExplanationService::changed, this, &ChainPanel::scheduleRefresh);
    connect(&Theme::instance(), &Theme::changed, this, &ChainPanel::fitList);
    fitList();
    m_list->setCurrentIndex(context.sampler.index(context.sampler.rowCount() - 1));
    followSeed();
    refresh();
}

void ChainPanel::fitList()
{
    m_list->setFixedHeight(StageCard::sizeHint().height() * m_context.sampler.rowCount() + 2);
}

void ChainPanel::buildSeedRow()
{
    const Theme &theme = Theme::instance();
    auto *row = new QHBoxLayout;
    row->setContentsMargins(0, theme.scaled(4), 0, 0);
    m_seedFixed = new QCheckBox(tr("Fixed seed"), this);
    m_seed = new QLineEdit(this);
    m_seed->setAccessibleName(tr("Seed"));
    m_seed->setValidator(
        new QRegularExpressionValidator(QRegularExpression(QStringLiteral("\\d{1,19}")), m_seed));
    row->addWidget(m_seedFixed);
    row->addWidget(m_seed, 1);
    qobject_cast<QVBoxLayout *>(m_draw->parentWidget()->layout())->addLayout(row);
    connect(m_seedFixed, &QCheckBox::toggled, this, &ChainPanel::seedEdited);
    connect(m_seed, &QLineEdit::editingFinished, this, &ChainPanel::seedEdited);
}

void ChainPanel::seedEdited()
{
    m_context.sampler.setSeed(m_seed->text().toULongLong());
    m_context.sampler.setSeedMode(m_seedFixed->isChecked() ? SeedMode::Fixed : SeedMode::Random);
}

void ChainPanel::followSeed()
{
    const bool isFixed = m_context.sampler.seedMode() == SeedMode::Fixed;
    const QSignalBlocker blocker(m_seedFixed);
    m_seedFixed->setChecked(isFixed);
    m_seed->setEnabled(isFixed);
    if (!m_seed->hasFocus())
        m_seed->setText(QString::number(m_context.sampler.settings()->seed));
}

void ChainPanel::showStage()
{
    const QModelIndex current = m_list->currentIndex();
    if (current.isValid())
        m_editor->setStage(m_context.sampler.stage(current.row()));
    else
        m_editor->clear();
}

bool ChainPanel::eventFilter(QObject *watched, QEvent *event)
{
    // Alt+Up and Alt+Down move the current stage: what dragging does, by keyboard.
    if (watched == m_list && event->type() == QEvent::KeyPress) {
        const auto *key = static_cast<QKeyEvent *>(event);
        const int row = m_list->currentIndex().row();
        if (key->modifiers() == Qt::AltModifier && row >= 0) {
            if (key->key() == Qt::Key_Up && row > 0)
                return m_context.sampler.moveRow({}, row, {}, row - 1);
            if (key->key() == Qt::Key_Down && row + 1 < m_context.sampler.rowCount())
                return m_context.sampler.moveRow({}, row, {}, row + 2);
        }
    }
    return LivePanel::eventFilter(watched, event);
}

void ChainPanel::refresh()
{
    const ExplanationPtr explanation = m_context.explanations.current();
    m_delegate->setExplanation(explanation);
    m_list->viewport()->update();
    if (!explanation) {
        m_draw->setDraw(m_context.sampler.seedMode() == SeedMode::Fixed
                            ? tr("seed %1").arg(m_context.sampler.settings()->seed)
                            : tr("a new seed for each reply"),
                        {}, {});
        m_note->setText(tr("Survivors and mass appear once a token was drawn."));
        return;
    }
    const StepRecord *record = m_context.runs.record(explanation->ref);
    const bool forced = record && record->origin == TokenOrigin::Forced && !m_context.explanations.whatIf();
    m_draw->setDraw(
        tr("seed %1 · u = %2").arg(explanation->settings->seed).arg(explanation->draw.u, 0, 'f', 4),
        formatCount(1), QString(formatPercent(explanation->draw.probability) + QStringLiteral(" %")));
    QString note = tr("survivors, and mass kept, at step %1").arg(formatStep(explanation->ref.step));
    if (m_context.explanations.whatIf() && record && explanation->draw.token != record->token)
        note += tr("; these settings would have drawn another token");
    else if (forced)
        note += tr("; its token was taken by hand");
    m_note->setText(note);
}

} // namespace tokenloupe
