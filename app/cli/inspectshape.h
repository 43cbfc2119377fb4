// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/terminal.h"
#include "engine/model/modelcontainer.h"

namespace tokenloupe::cli {

/// The keys of `inspect` that say what kind of model it is and how large: from "architecture" to
/// "sliding_window".
Json shapeJson(const ModelContainer &container);

} // namespace tokenloupe::cli
