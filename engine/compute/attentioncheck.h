// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/backend.h"

namespace tokenloupe {

/// What the backends' operations on a cache check before they touch memory.
Status checkAttention(Activations queries, const KvView &view, const AttentionParams &params,
                      Activations output);
Status checkStore(Activations keys, Activations values, LayerIndex layer, std::uint32_t firstPosition,
                  const KvView &view);

} // namespace tokenloupe
