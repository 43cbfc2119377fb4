// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/session.h"
#include "widgets/models/inspectorcontext.h"

#include <QMenu>
#include <functional>
#include <vector>

namespace tokenloupe {

/// What the model runs on and how: device, layers on it, precision, threads, context. Filled anew whenever it
/// is opened; devices that cannot be used are listed with the reason.
class DeviceMenu : public QMenu
{
    Q_OBJECT

public:
    /// `settings` opens the dialog with all of it.
    DeviceMenu(InspectorContext &context, QAction *settings, const std::vector<QAction *> &precisions,
               QWidget *parent = nullptr);

Q_SIGNALS:
    /// Another one, or other layers on it, with all the rest.
    void deviceChosen(const tokenloupe::SessionSettings &settings);
    void chosen(const tokenloupe::SessionSettings &settings); ///< something else

private:
    void fill();
    void addDevices();
    void addLayers();
    QAction *addChoice(const QString &text, bool isCurrent);
    void addUnusable(const QString &text, const QString &reason);
    void addSetting(const QString &text, bool isCurrent,
                    const std::function<void(SessionSettings &)> &change);

    InspectorContext m_context;
    QAction *m_settings;
    std::vector<QAction *> m_precisions;
};

} // namespace tokenloupe
