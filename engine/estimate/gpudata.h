// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace tokenloupe {

extern const char *const builtInGpuData; ///< the text of resources/gpus.json

} // namespace tokenloupe
