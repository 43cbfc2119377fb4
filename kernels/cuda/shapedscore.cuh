// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/attention.h"

#include <cmath>
#include <cuda_runtime.h>

namespace tokenloupe::cuda {

/// What the architecture does to a score before the softmax.
__device__ inline float shapedScore(const AttentionShape &shape, std::int32_t head, std::int32_t distance,
                                    float score)
{
    if (shape.softCap > 0.0F)
        score = shape.softCap * tanhf(score / shape.softCap);
    if (shape.slopes)
        score -= shape.slopes[head] * static_cast<float>(distance);
    return score;
}

} // namespace tokenloupe::cuda
