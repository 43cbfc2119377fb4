// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/messagebar.h"
#include "widgets/models/enginehost.h"

namespace tokenloupe {

/// A device was asked for, and the CPU runs.
Message fallbackMessage(const EngineStatus &status);
/// The device is gone: what is left, and a button that goes on with the CPU.
Message deviceLostMessage(const QString &error);
/// A backend works less well than it could.
Message remarkMessage(const QString &remark);

} // namespace tokenloupe
