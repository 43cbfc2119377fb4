// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "widgets/controls/messagebar.h"
#include "widgets/models/enginehost.h"

namespace tokenloupe {

/// A reply ended because its context was full: what happened, and what would fit this machine instead.
Message contextFullMessage(const EngineStatus &status);

} // namespace tokenloupe
