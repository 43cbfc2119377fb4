// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/runtoolbar.h"

#include "widgets/controls/refreshpace.h"
#include "widgets/models/devicetext.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/modeltitle.h"
#include "widgets/models/precisiontext.h"
#include "widgets/models/runstore.h"
#include "widgets/models/selectionstate.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"

#include <QAction>
#include <QLabel>
#include <QMenu>
#include <QResizeEvent>
#include <QToolButton>

namespace tokenloupe {

namespace {

/// Tokens per second over the decode steps of a run; 0 while there is none.
double decodeRate(const Run &run)
{
    double ms = 0.0;
    int counted = 0;
    for (const StepRecord &step : run.steps) {
        if (step.forwardMs > 0.0) { // the first step's forward pass was the prefill
            ms += step.forwardMs + step.sampleMs + step.otherMs;
            ++counted;
        }
    }
    return ms > 0.0 ? counted * 1000.0 / ms : 0.0;
}

QString bold(const QString &text)
{
    return QString(QStringLiteral("<b>") + text.toHtmlEscaped() + QStringLiteral("</b>"));
}

} // namespace

RunToolBar::RunToolBar(InspectorContext &context, const Actions &actions, QMenu *modelMenu, QMenu *deviceMenu,
                       QWidget *parent)
    : QToolBar(tr("Run"), parent)
    , m_context(context)
{
    setObjectName(QStringLiteral("runToolBar"));
    setMovable(false);
    setFloatable(false);
    setContextMenuPolicy(Qt::PreventContextMenu);
    const int gap = Theme::instance().scaled(8);

    const auto space = [&](int width) {
        auto *spacer = new QWidget(this);
        if (width > 0)
            spacer->setFixedWidth(width);
        else
            spacer->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
        addWidget(spacer);
    };
    m_model = addMenuButton(modelMenu, tr("Model"));
    space(gap);
    m_device = addMenuButton(deviceMenu, tr("Device"));
    space(gap * 2);
    m_run = addActionButton(actions.run);
    m_pause = addActionButton(actions.pause);
    addActionButton(actions.step);
    addActionButton(actions.stop);
    addActionButton(actions.branch);
    space(gap);
    m_position = new QLabel(this);
    m_position->setAccessibleName(tr("Position"));
    m_position->setForegroundRole(QPalette::PlaceholderText);
    addWidget(m_position);
    space(0);
    m_metrics = new QLabel(this);
    m_metrics->setAccessibleName(tr("Speed and context"));
    m_metrics->setTextFormat(Qt::RichText);
    addWidget(m_metrics);
    space(gap);

    connect(&context.host, &EngineHost::statusChanged, this, &RunToolBar::refreshStatus);
    auto *pace = new RefreshPace(
        [this] {
            refreshMetrics();
            refreshPosition();
        },
        this);
    connect(&context.runs, &RunStore::updated, pace, &RefreshPace::schedule);
    connect(&context.runs, &RunStore::cleared, pace, &RefreshPace::schedule);
    connect(&context.selection, &SelectionState::changed, pace, &RefreshPace::schedule);
    connect(&Theme::instance(), &Theme::changed, this, &RunToolBar::refreshMetrics);
    refreshStatus();
}

QToolButton *RunToolBar::addActionButton(QAction *action)
{
    auto *button = new QToolButton(this);
    button->setDefaultAction(action);
    button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    button->setFocusPolicy(Qt::TabFocus);
    addWidget(button);
    button->setAutoRaise(false); // only now: a tool bar that takes a button switches it on
    return button;
}

QToolButton *RunToolBar::addMenuButton(QMenu *menu, const QString &accessibleName)
{
    auto *button = new QToolButton(this);
    button->setMenu(menu);
    button->setPopupMode(QToolButton::InstantPopup);
    button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    button->setFocusPolicy(Qt::TabFocus);
    button->setAccessibleName(accessibleName);
    addWidget(button);
    button->setAutoRaise(false);
    return button;
}

void RunToolBar::resizeEvent(QResizeEvent *event)
{
    QToolBar::resizeEvent(event);
    const bool isNarrow = event->size().width() < Theme::instance().scaled(1400);
    if (isNarrow != m_isNarrow) {
        m_isNarrow = isNarrow;
        refreshStatus();
    }
}

void RunToolBar::refreshStatus()
{
    const EngineStatus &status = m_context.host.status();
    if (status.model) {
        const Model &model = *status.model->model;
        QString name = modelTitle(model);
        if (name.size() > 32)
            name = QString(name.left(31) + QStringLiteral("…"));
        QString type = QString::fromStdString(model.mainType());
        if (!m_isNarrow)
            type += QString(QStringLiteral(" · ") + formatBytes(model.weightsBytes()));
        m_model->setText(QString(name + QStringLiteral("  ") + type));
        m_model->setToolTip(QString::fromStdString(model.path().string()));
        const bool isCpu = status.session.backend == BackendKind::Cpu;
        const std::uint32_t layers = model.config().layers;
        const QString threads =
            isCpu || status.deviceLayers ? counted(status.threads, tr("thread"), tr("threads")) : QString();
        QString device = status.device;
        const qsizetype room = m_isNarrow ? (status.deviceLayers ? 12 : 16) : 32;
        if (!isCpu && device.size() > room)
            device = QString(device.left(room - 1) + QStringLiteral("…"));
        if (status.deviceLayers)
            device = m_isNarrow
                         ? tr("%1 %2/%3").arg(device, formatCount(*status.deviceLayers), formatCount(layers))
                         : partText(*status.deviceLayers, layers, device);
        if (!m_isNarrow && isCpu)
            device += QStringLiteral(" · ") + threads;
        device += QStringLiteral(" · ") + precisionTitle(status.session.precision);
        m_device->setText(device);
        QString where = isCpu ? QString() : status.device;
        if (status.deviceLayers)
            where = tr("%1, the rest on the CPU").arg(partText(*status.deviceLayers, layers, status.device));
        QStringList lines{where, threads, status.fallbackReason, precisionSummary(status.session.precision)};
        if (isCpu)
            lines << weightKernelsText(model, status.session.precision);
        lines.removeAll(QString());
        m_device->setToolTip(lines.join(QLatin1Char('\n')));
    } else {
        m_model->setText(status.state == EngineState::Loading ? tr("Loading…") : tr("Open a model"));
        m_model->setToolTip({});
        m_device->setText(tr("No device"));
        m_device->setToolTip({});
    }
    m_device->setEnabled(status.model != nullptr);
    refreshPosition();
    refreshMetrics();
}

void RunToolBar::refreshPosition()
{
    const EngineStatus &status = m_context.host.status();
    QString state;
    switch (status.state) {
    case EngineState::NoModel:
        break;
    case EngineState::Loading:
        state = tr("loading");
        break;
    case EngineState::Idle:
        state = m_context.runs.isEmpty() ? QString() : tr("idle");
        break;
    case EngineState::Prefilling:
        state = tr("prefill");
        break;
    case EngineState::Running:
        state = tr("running");
        break;
    case EngineState::Paused:
        state = tr("paused");
        break;
    case EngineState::Measuring:
        state = tr("measuring");
        break;
    case EngineState::Comparing:
        state = tr("comparing");
        break;
    case EngineState::TraceOnly:
        state = tr("trace only");
        break;
    }
    const StepRef selected = m_context.selection.current();
    const Run *run = m_context.runs.run(selected.run);
    QString text;
    if (run && selected.isValid())
        text = (m_isNarrow ? tr("%1 of %2") : tr("step %1 of %2"))
                   .arg(formatStep(selected.step))
                   .arg(run->steps.size());
    if (!state.isEmpty())
        text += text.isEmpty() ? state : QString(QStringLiteral(" · ") + state);
    m_position->setText(text);
}

void RunToolBar::refreshMetrics()
{
    refreshPosition();
    const EngineStatus &status = m_context.host.status();
    const Run *run = m_context.runs.run(m_context.runs.newestRun());
    if (!run) {
        m_metrics->clear();
        return;
    }
    const QString muted = Theme::instance().colors().muted.name();
    const auto label = [&](const QString &text) {
        return QString(QStringLiteral("<span style=\"color:") + muted + QStringLiteral("\">") + text +
                       QStringLiteral("</span>&nbsp;"));
    };
    QString text = label(tr("TTFT"));
    const double first =
        run->start.tokenizeMs + run->start.prefillMs +
        (run->steps.empty() ? 0.0 : run->steps.front().sampleMs + run->steps.front().otherMs);
    text += bold(formatMilliseconds(first));
    text += QStringLiteral("&nbsp;&nbsp; ");
    if (!m_isNarrow)
        text += label(tr("decode"));
    const double rate = decodeRate(*run);
    text += bold(rate > 0.0 ? formatRate(rate, tr("tok/s")) : QStringLiteral("–"));
    // What the context holds: the drawn token is part of it, tokens that left it are not.
    const std::uint64_t used = run->steps.empty() ? run->start.prompt.size()
                                                  : std::min(run->steps.back().kvTokens + 1U,
                                                             std::max(1U, status.session.contextTokens));
    text += QStringLiteral("&nbsp;&nbsp; ");
    if (!m_isNarrow)
        text += label(tr("context"));
    text += bold(formatCount(used)) +
            label(QString(QStringLiteral(" / ") + formatCount(status.session.contextTokens)));
    m_metrics->setText(text);
}

} // namespace tokenloupe
