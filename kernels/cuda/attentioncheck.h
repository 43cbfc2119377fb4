// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/attention.h"

// What launchers of attention refuse. All functions say whether things fit together.

namespace tokenloupe::cuda {

/// Rows of whole heads.
bool areHeads(const DeviceRows &rows, std::int32_t heads, std::int32_t headSize);
bool isRotary(const RotaryParams &rotary, std::int32_t headSize);
/// Types, sizes, alignment. Says nothing of the table's contents, which is the device's.
bool isLayerView(const KvLayerView &view);
/// Both of them, the shape, and queries whose rows are aligned to 16 bytes.
bool isAttention(const DeviceRows &queries, const KvLayerView &view, const AttentionShape &shape,
                 const StepState *state);

} // namespace tokenloupe::cuda
