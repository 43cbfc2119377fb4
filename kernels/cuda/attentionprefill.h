// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/attention.h"

namespace tokenloupe::cuda {

constexpr std::int32_t largestTensorHead = 256;

/// attendPrefill with tensor cores, for heads up to largestTensorHead; the caller has checked the rest.
cudaError_t attendPrefillTensor(DeviceRows queries, const KvLayerView &view, const AttentionShape &shape,
                                const StepState *state, DeviceRows output, cudaStream_t stream);

} // namespace tokenloupe::cuda
