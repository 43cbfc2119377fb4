// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/backend.h"

namespace tokenloupe {

/// What the backends check of a feed-forward with experts before they touch memory.
Status checkExperts(Activations input, Activations router, const ExpertParams &params, Activations output);

} // namespace tokenloupe
