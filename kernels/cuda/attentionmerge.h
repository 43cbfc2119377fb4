// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/attentionplan.h"

#include <cuda_runtime.h>

namespace tokenloupe::cuda {

/// How far the heads of a row are: whoever is last finds all of them in memory.
struct RowArrivals
{
    std::uint32_t heads = 0;
    std::uint32_t largest = 0; ///< bits of the largest magnitude of those
};

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
    RowArrivals *arrivals = nullptr; ///< (rows), all zero before heads are merged
};

/// Joins the stretches of each row and head; rounds each row where there are planes for it.
cudaError_t mergeDecode(const DecodeCall &call, DeviceRows output, QuantizedRows planes, cudaStream_t stream);

} // namespace tokenloupe::cuda
