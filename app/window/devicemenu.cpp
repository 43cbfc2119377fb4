// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/devicemenu.h"

#include "widgets/models/devicetext.h"
#include "widgets/models/enginehost.h"
#include "widgets/theme/numbers.h"

#include <QAction>
#include <functional>
#include <set>

namespace tokenloupe {

DeviceMenu::DeviceMenu(InspectorContext &context, QAction *settings, const std::vector<QAction *> &precisions,
                       QWidget *parent)
    : QMenu(tr("Device"), parent)
    , m_context(context)
    , m_settings(settings)
    , m_precisions(precisions)
{
    setToolTipsVisible(true);
    connect(this, &QMenu::aboutToShow, this, &DeviceMenu::fill);
}

QAction *DeviceMenu::addChoice(const QString &text, bool isCurrent)
{
    QAction *action = addAction(text);
    action->setCheckable(true);
    action->setChecked(isCurrent);
    return action;
}

void DeviceMenu::addUnusable(const QString &text, const QString &reason)
{
    QAction *action = addAction(text);
    action->setEnabled(false);
    action->setToolTip(reason);
}

void DeviceMenu::addSetting(const QString &text, bool isCurrent,
                            const std::function<void(SessionSettings &)> &change)
{
    connect(addChoice(text, isCurrent), &QAction::triggered, this, [this, change] {
        SessionSettings changed = m_context.host.status().session;
        change(changed);
        Q_EMIT chosen(changed);
    });
}

void DeviceMenu::addDevices()
{
    const EngineStatus &status = m_context.host.status();
    const SessionSettings &now = status.session;
    const DeviceList &list = m_context.host.devices();
    const auto choose = [this](QAction *action, BackendKind kind, const std::string &id) {
        connect(action, &QAction::triggered, this, [this, kind, id] {
            SessionSettings changed = m_context.host.status().session;
            changed.backend = kind;
            changed.device = id;
            Q_EMIT deviceChosen(changed);
        });
    };
    addSection(tr("Device"));
    choose(addChoice(tr("CPU"), now.backend == BackendKind::Cpu), BackendKind::Cpu, {});
    for (const DeviceEntry &device : list.devices) {
        if (!device.problem.empty()) {
            addUnusable(unusableTitle(device), QString::fromStdString(device.problem));
            continue;
        }
        const bool isOnly = now.device.empty() && QString::fromStdString(device.name) == status.device;
        const bool isCurrent = now.backend == BackendKind::Cuda && (isOnly || now.device == device.id);
        choose(addChoice(deviceTitle(device), isCurrent), BackendKind::Cuda, device.id);
    }
    if (!list.problem.empty()) {
        const QString problem = QString::fromStdString(list.problem);
        addUnusable(noDeviceTitle(problem), problem);
    }
}

/// All, a few parts, and what is in force; any other number is to be had in the dialog.
void DeviceMenu::addLayers()
{
    const EngineStatus &status = m_context.host.status();
    const std::uint32_t all = status.model->config().layers;
    if (status.session.backend == BackendKind::Cpu || all < 2)
        return;
    const std::uint32_t now = status.deviceLayers.value_or(all);
    std::set<std::uint32_t, std::greater<>> counts{all, now};
    for (const std::uint32_t quarters : {1U, 2U, 3U})
        counts.insert(std::max(1U, all * quarters / 4));
    addSection(tr("Layers on the device"));
    for (const std::uint32_t layers : counts) {
        const QString text = layers == all ? tr("all layers")
                                           : tr("%1 of %2 layers").arg(formatCount(layers), formatCount(all));
        connect(addChoice(text, layers == now), &QAction::triggered, this, [this, layers, all] {
            SessionSettings changed = m_context.host.status().session;
            changed.deviceLayers = layers < all ? std::optional(layers) : std::nullopt;
            Q_EMIT deviceChosen(changed);
        });
    }
}

void DeviceMenu::fill()
{
    clear();
    const EngineStatus &status = m_context.host.status();
    if (!status.model)
        return;
    addAction(m_settings);
    addDevices();
    addLayers();
    addSection(tr("Precision"));
    for (QAction *action : m_precisions)
        addAction(action);
    if (status.session.backend == BackendKind::Cpu || status.deviceLayers) {
        addSection(tr("Threads"));
        for (int threads = 1; threads <= usableCores(); threads = threads < 4 ? threads + 1 : threads * 2)
            addSetting(counted(std::uint64_t(threads), tr("thread"), tr("threads")),
                       threads == status.threads,
                       [threads](SessionSettings &changed) { changed.threads = threads; });
    }
    addSection(tr("Context"));
    const std::uint32_t trained = status.model->config().contextTrain;
    for (std::uint32_t context = 512; context <= 131072; context *= 2) {
        if (context > trained && context / 2 >= trained)
            break;
        const std::uint32_t tokens = std::min(context, trained);
        addSetting(tr("%1 tokens").arg(formatCount(tokens)), tokens == status.session.contextTokens,
                   [tokens](SessionSettings &changed) { changed.contextTokens = tokens; });
    }
}

} // namespace tokenloupe
