// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/mainwindow.h"

#include "app/window/commandpalette.h"
#include "app/window/contextadvice.h"
#include "app/window/paneldock.h"
#include "app/window/runtoolbar.h"
#include "app/window/workspaces.h"
#include "engine/estimate/estimate.h"
#include "widgets/controls/messagebar.h"
#include "widgets/controls/refreshpace.h"
#include "widgets/models/modeltitle.h"
#include "widgets/models/precisiontext.h"
#include "widgets/theme/numbers.h"
#include "widgets/views/chain/chainpanel.h"
#include "widgets/views/chat/chatpanel.h"
#include "widgets/views/cumulative/cumulativepanel.h"
#include "widgets/views/distribution/distributionpanel.h"
#include "widgets/views/distribution/vocabularypanel.h"
#include "widgets/views/estimator/estimatorpanel.h"
#include "widgets/views/kvcache/kvcachepanel.h"
#include "widgets/views/memory/memorypanel.h"
#include "widgets/views/penalties/penaltiespanel.h"
#include "widgets/views/precision/precisionpanel.h"
#include "widgets/views/prompt/promptpanel.h"
#include "widgets/views/timeline/timelinepanel.h"
#include "widgets/views/tokens/tokenspanel.h"

#include <QCloseEvent>
#include <QDir>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QLabel>
#include <QMenuBar>
#include <QMimeData>
#include <QStatusBar>
#include <QUrl>

namespace tokenloupe {

MainWindow::MainWindow(DeviceSource devices, QWidget *parent)
    : QMainWindow(parent)
    , m_inspector(std::move(devices))
    , m_context(m_inspector.context())
{
    setWindowTitle(QStringLiteral("Tokenloupe"));
    setDockNestingEnabled(true);
    setDockOptions(AllowNestedDocks | AllowTabbedDocks | AnimatedDocks);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    setAcceptDrops(true);
    setContentsMargins(8, 0, 8, 0);
    // No central widget: every rectangle is a dock, the chat too.

    createPanels();
    createFileMenu();
    createRunActions();
    createViewMenu();
    createDeviceMenu();
    createToolBars();
    createStatusBar();
    m_palette = new CommandPalette(this);
    connectEngine();
    connectDevice();
    refreshActions();
    refreshStatusBar();
}

MainWindow::~MainWindow() = default;

PanelDock *MainWindow::addPanel(const char *name, Panel *panel)
{
    auto *dock = new PanelDock(QString::fromLatin1(name), panel, this);
    // Placed by the workspace, before the window is shown: all docks in one row would make it as wide as all
    // of them.
    dock->hide();
    m_docks[dock->objectName()] = dock;
    connect(panel, &Panel::emptyActionTriggered, this, &MainWindow::chooseModel);
    return dock;
}

void MainWindow::createPanels()
{
    addPanel("chain", new ChainPanel(m_context));
    addPanel("penalties", new PenaltiesPanel(m_context));
    m_chat = new ChatPanel(m_context);
    addPanel("chat", m_chat);
    addPanel("prompt", new PromptPanel(m_context));
    addPanel("distribution", new DistributionPanel(m_context));
    addPanel("vocabulary", new VocabularyPanel(m_context));
    addPanel("tokens", new TokensPanel(m_context));
    m_precision = new PrecisionPanel(m_context);
    addPanel("precision", m_precision);
    m_cache = new KvCachePanel(m_context);
    addPanel("kvcache", m_cache);
    addPanel("estimator", new EstimatorPanel(m_context));
    addPanel("memory", new MemoryPanel(m_context));
    addPanel("cumulative", new CumulativePanel(m_context));
    addPanel("timeline", new TimelinePanel(m_context));

    std::map<QString, QDockWidget *> docks(m_docks.begin(), m_docks.end());
    m_workspaces = new Workspaces(*this, std::move(docks), this);
}

void MainWindow::createToolBars()
{
    auto *row = new RunToolBar(m_context, {m_run, m_pause, m_step, m_stop, m_branch}, m_modelMenu,
                               m_deviceMenu, this);
    addToolBar(Qt::TopToolBarArea, row);
    addToolBarBreak(Qt::TopToolBarArea);
    m_messageRow = new QToolBar(tr("Messages"), this);
    m_messageRow->setObjectName(QStringLiteral("messageRow"));
    m_messageRow->setMovable(false);
    m_messageRow->setContextMenuPolicy(Qt::PreventContextMenu);
    m_messageRow->toggleViewAction()->setVisible(false);
    m_message = new MessageBar(m_messageRow);
    // Inside a tool bar the action decides whether its widget is seen.
    QAction *entry = m_messageRow->addWidget(m_message);
    entry->setVisible(true);
    m_message->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    addToolBar(Qt::TopToolBarArea, m_messageRow);
    m_messageRow->hide();
    connect(m_message, &MessageBar::closed, m_messageRow, &QWidget::hide);
    connect(m_message, &MessageBar::actionTriggered, this, [this] {
        if (m_messageAction)
            m_messageAction();
        else
            showEngineSettings();
    });
    connect(m_message, &MessageBar::otherActionTriggered, this, [this] { m_otherMessageAction(); });
}

void MainWindow::createStatusBar()
{
    m_engineLabel = new QLabel(this);
    m_engineLabel->setAccessibleName(tr("Engine"));
    m_traceLabel = new QLabel(this);
    m_traceLabel->setAccessibleName(tr("Trace"));
    for (QLabel *label : {m_engineLabel, m_traceLabel}) {
        label->setFont(Theme::instance().font(TextRole::Small));
        label->setForegroundRole(QPalette::PlaceholderText);
        label->setContentsMargins(8, 0, 16, 0);
        statusBar()->addWidget(label);
    }
    statusBar()->setSizeGripEnabled(false);
    auto *pace = new RefreshPace([this] { refreshTraceLabel(); }, this);
    connect(&m_inspector.runs, &RunStore::updated, pace, &RefreshPace::schedule);
    connect(&m_inspector.runs, &RunStore::cleared, pace, &RefreshPace::schedule);
}

void MainWindow::connectEngine()
{
    EngineHost &host = m_inspector.host;
    connect(&host, &EngineHost::statusChanged, this, [this] {
        const bool runs = m_inspector.host.status().state == EngineState::Running;
        RefreshPace::setRest(runs ? RefreshPace::runningRest : std::chrono::milliseconds(0));
        refreshActions();
        refreshStatusBar();
    });
    connect(&host, &EngineHost::modelOpened, this, &MainWindow::refreshAttentionKinds);
    connect(&host, &EngineHost::configured, this, &MainWindow::refreshAttentionKinds);
    connect(&host, &EngineHost::modelOpened, this, [this] {
        m_openPath = QString::fromStdString(m_inspector.host.status().model->model->path().string());
        m_messageRow->hide();
        QStringList recent = m_settings.value(QStringLiteral("recentModels")).toStringList();
        recent.removeAll(m_openPath);
        recent.prepend(m_openPath);
        m_settings.setValue(QStringLiteral("recentModels"), recent.mid(0, 10));
        m_settings.setValue(QStringLiteral("lastModel"), m_openPath);
        const LoadedModel &model = *m_inspector.host.status().model;
        setWindowTitle(QString(modelTitle(*model.model) + QStringLiteral(" – Tokenloupe")));
        if (!model.warnings.empty()) {
            QStringList lines;
            for (const std::string &warning : model.warnings)
                lines << QString::fromStdString(warning);
            Message message;
            message.kind = MessageKind::Warning;
            message.what = tr("The model is open, with %1.")
                               .arg(counted(model.warnings.size(), tr("remark"), tr("remarks")));
            message.why = lines.first();
            if (lines.size() > 1)
                message.details = lines.join(QLatin1Char('\n'));
            showMessage(message);
        }
        m_chat->focusInput();
    });
    connect(&m_inspector.runs, &RunStore::runEnded, this, [this](RunId id) {
        const Run *run = m_inspector.runs.run(id);
        if (run && run->end == EndReason::Context)
            showMessage(contextFullMessage(m_inspector.host.status()));
    });
    connect(&host, &EngineHost::failed, this, [this](const QString &message) {
        showMessage({MessageKind::Error, tr("The reply could not go on."), message, {}, {}, {}});
    });
    connect(&host, &EngineHost::comparisonEnded, this, [this](const QString &message) {
        if (!message.isEmpty())
            showMessage(
                {MessageKind::Error, tr("The precisions could not be compared."), message, {}, {}, {}});
    });
    connect(&m_inspector.conversation, &Conversation::failed, this, [this](const QString &message) {
        showMessage({MessageKind::Error, tr("The message could not be answered."), message, {}, {}, {}});
    });
    connect(&m_inspector.sampler, &SamplerModel::stageRejected, this, [this](int, const QString &message) {
        showMessage({MessageKind::Warning, tr("The setting was not taken."), message, {}, {}, {}});
    });
}

void MainWindow::refreshAttentionKinds()
{
    const EngineStatus &status = m_inspector.host.status();
    if (!status.model)
        return;
    if (const auto shape = shapeOfContainer(status.model->model->container()))
        m_cache->setAttentionVariants(
            attentionVariants(*shape, status.session.keyType, status.session.valueType));
}

void MainWindow::showMessage(const Message &message, const std::function<void()> &action,
                             const std::function<void()> &otherAction)
{
    m_messageAction = action;
    m_otherMessageAction = otherAction;
    m_messageRow->show();
    m_message->showMessage(message);
}

void MainWindow::openModel(const QString &path)
{
    // Names of folders may end in a slash.
    m_inspector.host.openModel(QDir::cleanPath(QFileInfo(path).absoluteFilePath()), m_session, m_loadOptions);
}

void MainWindow::restoreLayout()
{
    m_workspaces->restore(m_settings);
}

void MainWindow::closeEvent(QCloseEvent *event)
{
    m_workspaces->save(m_settings);
    m_settings.setValue(QStringLiteral("geometry"), saveGeometry());
    QMainWindow::closeEvent(event);
}

void MainWindow::resizeEvent(QResizeEvent *event)
{
    QMainWindow::resizeEvent(event);
    if (m_wasShown)
        m_workspaces->windowResized();
}

void MainWindow::showEvent(QShowEvent *event)
{
    QMainWindow::showEvent(event);
    if (!std::exchange(m_wasShown, true))
        m_workspaces->windowShown();
}

void MainWindow::dragEnterEvent(QDragEnterEvent *event)
{
    const QList<QUrl> urls = event->mimeData()->urls();
    if (urls.size() == 1 && urls.first().isLocalFile())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent *event)
{
    const QList<QUrl> urls = event->mimeData()->urls();
    if (!urls.isEmpty())
        openModel(urls.first().toLocalFile());
}

void MainWindow::refreshStatusBar()
{
    const EngineStatus &status = m_inspector.host.status();
    QString engine;
    switch (status.state) {
    case EngineState::NoModel:
        engine = tr("no model");
        break;
    case EngineState::Loading:
        engine = tr("engine loading");
        break;
    case EngineState::Idle:
        engine = tr("engine idle");
        break;
    case EngineState::Prefilling:
        engine = tr("engine in prefill");
        break;
    case EngineState::Running:
        engine = tr("engine running");
        break;
    case EngineState::Paused:
        engine = tr("engine paused");
        break;
    case EngineState::Measuring:
        engine = tr("engine measuring");
        break;
    case EngineState::Comparing:
        engine = tr("engine comparing precisions");
        break;
    case EngineState::TraceOnly:
        engine = tr("trace only: the device is lost");
        break;
    }
    const bool busy = status.state != EngineState::NoModel && status.state != EngineState::Idle &&
                      status.state != EngineState::Paused && status.state != EngineState::TraceOnly;
    engine = QString((busy ? QStringLiteral("● ") : QStringLiteral("○ ")) + engine);
    QString kernels;
    if (status.model) {
        const Precision precision = status.session.precision;
        engine += tr(" · %1 precision").arg(precisionTitle(precision));
        kernels = QString(precisionSummary(precision) + QLatin1Char('\n') +
                          weightKernelsText(*status.model->model, precision));
    }
    m_engineLabel->setText(engine);
    m_engineLabel->setToolTip(kernels);
    refreshTraceLabel();
}

void MainWindow::refreshTraceLabel()
{
    std::size_t steps = 0;
    for (const auto &[id, run] : m_inspector.runs.runs())
        steps += run.steps.size();
    const auto logits = m_inspector.host.logits();
    if (!logits || steps == 0) {
        m_traceLabel->clear();
        return;
    }
    const std::uint64_t dropped = logits->droppedRows();
    QString trace = tr("trace: %1").arg(counted(steps, tr("step"), tr("steps")));
    trace += QString(QStringLiteral(" · ") + formatBytes(logits->memoryBytes()));
    if (logits->spilledBytes() > 0)
        trace += tr(" in memory, %1 on disk").arg(formatBytes(logits->spilledBytes()));
    trace += dropped == 0 ? tr(" · lossless")
                          : tr(" · logits of %1 dropped").arg(counted(dropped, tr("step"), tr("steps")));
    m_traceLabel->setText(trace);
}

} // namespace tokenloupe
