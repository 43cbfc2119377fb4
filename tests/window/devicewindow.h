// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/cuda/makecuda.h"
#include "tests/cudahost/cudahost.h"
#include "tests/window/windowfixture.h"
#include "widgets/controls/messagebar.h"
#include "widgets/controls/stackedbar.h"
#include "widgets/views/settings/enginesettingsdialog.h"

#include <QMenu>
#include <QPushButton>
#include <QToolButton>

namespace tokenloupe::test {

inline constexpr std::size_t contextBytes = std::size_t(96) << 20;

inline cudahost::Settings card(std::size_t bytes = std::size_t(1) << 30)
{
    cudahost::Settings settings;
    settings.cardBytes = bytes;
    settings.contextBytes = contextBytes;
    return settings;
}

/// The device that the host plays, and the CPU.
inline DeviceSource hostedDevices()
{
    return {cudaDevices, [](BackendKind kind, const std::string &device, int threads) {
                return kind == BackendKind::Cuda ? makeCudaBackend(device) : makeCpuBackend(threads);
            }};
}

/// The window where the CPU and the device that the host plays compute.
class DeviceWindow : public WindowFixture
{
public:
    DeviceWindow()
        : WindowFixture({1600, 1000}, hostedDevices())
    {}

    MessageBar &message()
    {
        return *window->findChild<QWidget *>(QStringLiteral("messageRow"))->findChild<MessageBar *>();
    }
    QToolButton &deviceButton()
    {
        for (QToolButton *button : window->findChildren<QToolButton *>()) {
            if (button->accessibleName() == QLatin1String("Device"))
                return *button;
        }
        qFatal("no device button");
    }
    QToolButton *toolButton(const QString &text)
    {
        for (QToolButton *button : window->findChildren<QToolButton *>()) {
            if (button->text() == text)
                return button;
        }
        return nullptr;
    }
    /// The device menu as a click opens it.
    QMenu *openMenu()
    {
        QMenu *menu = deviceButton().menu();
        menu->popup(deviceButton().mapToGlobal(QPoint(0, deviceButton().height())));
        return menu;
    }
    /// Null when it does not show.
    EngineSettingsDialog *openDialog()
    {
        action(QStringLiteral("Engine: device, precision, context, cache, threads"))->trigger();
        auto *dialog = panel<EngineSettingsDialog>();
        return QTest::qWaitForWindowExposed(dialog) ? dialog : nullptr;
    }
    bool chooseInMenu(const QString &start)
    {
        if (!QTest::qWaitFor([&] { return !inspector().host.devices().devices.empty(); }, patience))
            return false;
        QMenu *menu = openMenu();
        for (QAction *action : menu->actions()) {
            if (action->text().startsWith(start) && action->isEnabled()) {
                QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(action).center());
                return true;
            }
        }
        return false;
    }
    template <class Field>
    static Field *field(QWidget &parent, const QString &name)
    {
        for (Field *found : parent.findChildren<Field *>()) {
            if (found->accessibleName() == name)
                return found;
        }
        return nullptr;
    }
    static StackedBar *bar(QWidget &parent, const QString &name) { return field<StackedBar>(parent, name); }
    /// By its text, with every space a plain one.
    static QPushButton *button(QWidget &parent, const QString &text)
    {
        for (QPushButton *found : parent.findChildren<QPushButton *>()) {
            if (found->text().remove(QLatin1Char('&')).replace(QChar::Nbsp, QLatin1Char(' ')) == text)
                return found;
        }
        return nullptr;
    }
};

} // namespace tokenloupe::test
