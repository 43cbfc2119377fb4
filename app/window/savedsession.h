// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/session.h"

class QSettings;

namespace tokenloupe {

/// How the engine was set when the program ended.
SessionSettings savedSession(const QSettings &settings);
/// All but the device: one that is not to be had today may be wanted tomorrow.
void saveSession(QSettings &settings, const SessionSettings &session);
/// Once somebody has chosen it.
void saveDevice(QSettings &settings, const SessionSettings &session);

} // namespace tokenloupe
