// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/attentionplan.h"

#include <cuda_runtime.h>

namespace tokenloupe::cuda {

/// What one call of attendDecode hands to its kernels.
struct DecodeCall
{
    DeviceRows queries;
    KvLayerView view;
    AttentionShape shape;
    LanePlan lanes;
    std::int32_t stretches = 1;
    const StepState *state = nullptr;
    float *sums = nullptr;   ///< (rows × heads × stretches × valueSize): values weighted by exponentials
    float2 *stats = nullptr; ///< (rows × heads × stretches): largest score, sum of the exponentials
};

/// Joins the stretches of each row and head.
cudaError_t mergeDecode(const DecodeCall &call, DeviceRows output, cudaStream_t stream);

} // namespace tokenloupe::cuda
