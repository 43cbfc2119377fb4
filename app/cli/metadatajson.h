// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/terminal.h"
#include "engine/model/modelcontainer.h"

namespace tokenloupe::cli {

/// All keys of the file in their order, or the fields of a folder's config.json. Arrays of more than 16
/// values are {"type", "count"}.
Json metadataJson(const ModelContainer &container);

} // namespace tokenloupe::cli
