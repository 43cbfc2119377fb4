// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/terminal.h"
#include "engine/model/gguffile.h"

namespace tokenloupe::cli {

/// All keys of the file in their order. Arrays of more than 16 values are {"type", "count"}.
Json metadataJson(const GgufFile &file);

} // namespace tokenloupe::cli
