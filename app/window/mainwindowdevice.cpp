// SPDX-License-Identifier: GPL-3.0-or-later
// What the window does about the device that computes: menu, dialog, messages.
#include "app/window/deviceadvice.h"
#include "app/window/devicemenu.h"
#include "app/window/mainwindow.h"
#include "app/window/savedsession.h"
#include "widgets/models/devicetext.h"
#include "widgets/models/precisiontext.h"
#include "widgets/views/settings/enginesettingsdialog.h"

#include <QAction>
#include <QActionGroup>
#include <QFileInfo>
#include <QToolBar>

namespace tokenloupe {

void MainWindow::createDeviceMenu()
{
    m_session = savedSession(m_settings);
    m_loadOptions.quantization =
        loadQuantizationOf(m_settings.value(QStringLiteral("engine/quantize")).toString().toStdString())
            .value_or(LoadQuantization::AsStored);
    m_engineSettings = new EngineSettingsDialog(m_context, this);
    connect(m_engineSettings, &EngineSettingsDialog::applied, this, &MainWindow::rememberSession);
    connect(m_engineSettings, &EngineSettingsDialog::deviceChosen, this, &MainWindow::noteChosenDevice);
    auto *settings = new QAction(tr("Precision, context and cache…"), this);
    settings->setIcon(Theme::instance().icon(QStringLiteral("settings")));
    settings->setData(tr("Engine: device, precision, context, cache, threads"));
    m_actions.push_back(settings);
    connect(settings, &QAction::triggered, this, &MainWindow::showEngineSettings);
    createPrecisionActions();
    auto *menu = new DeviceMenu(m_context, settings, m_precisions, this);
    connect(menu, &DeviceMenu::chosen, &m_inspector.host, &EngineHost::configure);
    connect(menu, &DeviceMenu::deviceChosen, this, &MainWindow::configureOn);
    m_deviceMenu = menu;
}

void MainWindow::createPrecisionActions()
{
    auto *group = new QActionGroup(this);
    for (const Precision precision : {Precision::Exact, Precision::Fast}) {
        const QString title = precision == Precision::Fast ? tr("Fast") : tr("Exact");
        auto *action = new QAction(tr("%1 precision").arg(title), this);
        action->setCheckable(true);
        action->setToolTip(precisionSummary(precision));
        action->setData(tr("Precision: %1").arg(title));
        group->addAction(action);
        addAction(action);
        m_actions.push_back(action);
        m_precisions.push_back(action);
        connect(action, &QAction::triggered, this, [this, precision] {
            SessionSettings changed = m_inspector.host.status().session;
            if (changed.precision == precision)
                return;
            changed.precision = precision;
            m_inspector.host.configure(changed);
        });
    }
}

void MainWindow::showEngineSettings()
{
    m_engineSettings->show();
    m_engineSettings->raise();
    m_engineSettings->activateWindow();
}

void MainWindow::noteChosenDevice(const SessionSettings &chosen)
{
    m_chosenDevice = chosen;
}

void MainWindow::configureOn(const SessionSettings &chosen)
{
    noteChosenDevice(chosen);
    m_inspector.host.configure(chosen);
}

/// The engine took other settings. A device is remembered when it was chosen, also one that is not to be had
/// now; that the CPU runs in its place is not.
void MainWindow::rememberSession()
{
    const EngineStatus &status = m_inspector.host.status();
    const std::optional<SessionSettings> chosen = std::exchange(m_chosenDevice, std::nullopt);
    const bool isTaken = chosen && chosen->deviceLayers == status.session.deviceLayers &&
                         (chosen->backend == status.session.backend || !status.fallbackReason.isEmpty());
    const SessionSettings wanted = isTaken ? *chosen : m_session;
    m_session = status.session;
    m_session.backend = wanted.backend;
    m_session.device = wanted.device;
    m_session.deviceLayers = wanted.deviceLayers;
    saveSession(m_settings, m_session);
    if (isTaken) {
        saveDevice(m_settings, m_session);
        tellDevice();
    }
    m_loadOptions.quantization = status.model->options.quantization;
    const std::string_view quantize = loadQuantizationName(m_loadOptions.quantization);
    m_settings.setValue(QStringLiteral("engine/quantize"),
                        QString::fromUtf8(quantize.data(), qsizetype(quantize.size())));
}

/// Where a device was asked for: whether it runs, and how well.
void MainWindow::tellDevice()
{
    const EngineStatus &status = m_inspector.host.status();
    if (!status.fallbackReason.isEmpty())
        showMessage(fallbackMessage(status));
    else if (!status.remark.isEmpty())
        showMessage(remarkMessage(status.remark));
}

void MainWindow::connectDevice()
{
    EngineHost &host = m_inspector.host;
    connect(&host, &EngineHost::modelOpened, this, [this] {
        if (m_chosenDevice)
            rememberSession();
        tellDevice();
    });
    connect(&host, &EngineHost::configureFailed, this, &MainWindow::tellNotConfigured);
    connect(&host, &EngineHost::deviceLost, this, [this](const QString &error) {
        showMessage(deviceLostMessage(error), [this] {
            SessionSettings changed = m_inspector.host.status().session;
            changed.backend = BackendKind::Cpu;
            changed.device.clear();
            m_inspector.host.configure(changed);
            m_messageRow->hide();
        });
    });
    connect(&host, &EngineHost::modelFailed, this, &MainWindow::tellModelFailed);
}

void MainWindow::tellNotConfigured(const EngineFailure &failure)
{
    if (failure.message.isEmpty())
        return; // cancelled, or a newer choice took its place
    const bool isOfDevice = std::exchange(m_chosenDevice, std::nullopt).has_value();
    if (m_engineSettings->isVisible())
        return; // the dialog says it itself
    Message message;
    message.kind = MessageKind::Error;
    message.what = isOfDevice ? tr("The device stays as it was.") : tr("The settings stay as they were.");
    message.why = failure.message;
    if (failure.deviceLayers == 0)
        return showMessage(message);
    message.action = tr("Apply with %1 on the device").arg(layersText(failure.deviceLayers));
    showMessage(message, [this, fewer = failure.withFewerLayers()] {
        m_messageRow->hide();
        configureOn(fewer);
    });
}

void MainWindow::tellModelFailed(const QString &path, const EngineFailure &failure)
{
    if (failure.message.isEmpty())
        return; // cancelled by the user
    m_chosenDevice.reset();
    Message message;
    message.kind = MessageKind::Error;
    message.what = tr("%1 could not be opened.").arg(QFileInfo(path).fileName());
    message.why = failure.message;
    message.advice = m_openPath.isEmpty() ? tr("No model is open.")
                                          : tr("%1 stays open.").arg(QFileInfo(m_openPath).fileName());
    if (failure.settings.backend == BackendKind::Cpu)
        return showMessage(message);
    const auto open = [this, path, options = failure.options](const SessionSettings &settings) {
        m_messageRow->hide();
        m_inspector.host.openModel(path, settings, options);
    };
    SessionSettings onCpu = failure.settings;
    onCpu.backend = BackendKind::Cpu;
    onCpu.device.clear();
    const QString cpuAction = tr("Open it on the CPU");
    if (failure.deviceLayers == 0) {
        message.action = cpuAction;
        return showMessage(message, [open, onCpu] { open(onCpu); });
    }
    message.action = tr("Open it with %1 on the device").arg(layersText(failure.deviceLayers));
    message.otherAction = cpuAction;
    showMessage(
        message,
        [this, open, fewer = failure.withFewerLayers()] {
            noteChosenDevice(fewer);
            open(fewer);
        },
        [open, onCpu] { open(onCpu); });
}

} // namespace tokenloupe
