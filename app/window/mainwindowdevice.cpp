// SPDX-License-Identifier: GPL-3.0-or-later
// What the window does about the device that computes: menu, dialog, messages.
#include "app/window/deviceadvice.h"
#include "app/window/devicemenu.h"
#include "app/window/mainwindow.h"
#include "app/window/savedsession.h"
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
    connect(menu, &DeviceMenu::deviceChosen, this, [this](const SessionSettings &chosen) {
        noteChosenDevice(chosen);
        m_inspector.host.configure(chosen);
    });
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

/// The engine took other settings. A device is remembered when it was chosen, also one that is not to be had
/// now; that the CPU runs in its place is not.
void MainWindow::rememberSession()
{
    const EngineStatus &status = m_inspector.host.status();
    const std::optional<SessionSettings> chosen = std::exchange(m_chosenDevice, std::nullopt);
    const bool isTaken =
        chosen && (chosen->backend == status.session.backend || !status.fallbackReason.isEmpty());
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
    connect(&host, &EngineHost::modelOpened, this, &MainWindow::tellDevice);
    connect(&host, &EngineHost::configureFailed, this, [this](const QString &message) {
        // The dialog says it itself where it is open.
        if (m_chosenDevice && !message.isEmpty() && !m_engineSettings->isVisible())
            showMessage({MessageKind::Error, tr("The device stays as it was."), message, {}, {}, {}});
        if (!message.isEmpty()) // else a newer choice took its place
            m_chosenDevice.reset();
    });
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

void MainWindow::tellModelFailed(const QString &path, const QString &why)
{
    if (why.isEmpty())
        return; // cancelled by the user
    Message message;
    message.kind = MessageKind::Error;
    message.what = tr("%1 could not be opened.").arg(QFileInfo(path).fileName());
    message.why = why;
    message.advice = m_openPath.isEmpty() ? tr("No model is open.")
                                          : tr("%1 stays open.").arg(QFileInfo(m_openPath).fileName());
    if (m_session.backend == BackendKind::Cpu)
        return showMessage(message);
    message.action = tr("Open it on the CPU");
    showMessage(message, [this, path] {
        SessionSettings onCpu = m_session;
        onCpu.backend = BackendKind::Cpu;
        onCpu.device.clear();
        m_messageRow->hide();
        m_inspector.host.openModel(path, onCpu, m_loadOptions);
    });
}

} // namespace tokenloupe
