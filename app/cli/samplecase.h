// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/terminal.h"

namespace tokenloupe::cli {

/// One case of a case file through the sampler chain: {"id", "kept", "probs", "logits", "argmax", "mu",
/// "error", "stages"}. Whatever is wrong with it becomes its "error".
Json runSampleCase(const Json &sampleCase);

} // namespace tokenloupe::cli
