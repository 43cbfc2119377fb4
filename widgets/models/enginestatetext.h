// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/models/enginehost.h"

#include <QString>

namespace tokenloupe {

/// Why the engine cannot take on a measurement or a comparison now, and what to do; empty: it can.
QString engineBusyReason(EngineState state);

} // namespace tokenloupe
