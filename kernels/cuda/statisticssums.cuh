// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/rowvalues.cuh"

// Sums over the logits of a slice, and the slices of a row joined.

namespace tokenloupe::cuda {

__device__ inline float infinity()
{
    return __int_as_float(0x7F800000);
}

__device__ inline float notANumber()
{
    return __int_as_float(0x7FC00000);
}

/// Of one slice: Σ e^(l - maximum), Σ (l - maximum) e^(l - maximum), and what is counted.
struct SliceSums
{
    TwoFloat weights;
    TwoFloat moments;
    std::int32_t before = 0; ///< logits in front of the token, in the order of the summary
    std::int32_t nans = 0;
};

struct AddSums
{
    __device__ SliceSums operator()(const SliceSums &a, const SliceSums &b) const
    {
        return {a.weights + b.weights, a.moments + b.moments, a.before + b.before, a.nans + b.nans};
    }
};

__device__ inline SliceSums fromLane(const SliceSums &sums, int mask)
{
    return {cuda::fromLane(sums.weights, mask), cuda::fromLane(sums.moments, mask),
            cuda::fromLane(sums.before, mask), cuda::fromLane(sums.nans, mask)};
}

struct SlicePart
{
    SliceSums sums;
    float maximum = 0.0F;
};

__device__ inline void addLogit(SliceSums &sums, float logit, float maximum)
{
    // Where nothing is finite, or a logit is +inf, there are no sums.
    if (logit == -infinity() || maximum == infinity())
        return;
    const float distance = logit - maximum;
    const float weight = expf(distance);
    if (weight == 0.0F)
        return; // the distance may be too large for a float32
    sums.weights = sums.weights + weight;
    sums.moments = sums.moments + exactProduct(distance, weight);
}

/// What is left when the slices of a row are joined: sums relative to the maximum of all.
struct RowSums
{
    double weights = 0.0;
    double moments = 0.0;
    std::int32_t before = 0;
    std::int32_t nans = 0;
};

struct AddRowSums
{
    __device__ RowSums operator()(const RowSums &a, const RowSums &b) const
    {
        return {a.weights + b.weights, a.moments + b.moments, a.before + b.before, a.nans + b.nans};
    }
};

__device__ inline RowSums fromLane(const RowSums &sums, int mask)
{
    return {cuda::fromLane(sums.weights, mask), cuda::fromLane(sums.moments, mask),
            cuda::fromLane(sums.before, mask), cuda::fromLane(sums.nans, mask)};
}

/// By one warp.
__device__ inline RowSums joinSlices(const SlicePart *parts, std::int32_t slices, int lane, float maximum)
{
    RowSums sums;
    for (std::int32_t slice = lane; slice < slices; slice += warpLanes) {
        const SlicePart &part = parts[slice];
        sums.before += part.sums.before;
        sums.nans += part.sums.nans;
        const double weights = toDouble(part.sums.weights);
        if (weights == 0.0)
            continue; // nothing finite
        // Σ (l - M) e^(l - M) = e^(m - M) · (Σ (l - m) e^(l - m) + (m - M) Σ e^(l - m))
        const double shift = double(part.maximum) - double(maximum);
        const double factor = exp(shift);
        sums.weights += factor * weights;
        sums.moments += factor * (toDouble(part.sums.moments) + shift * weights);
    }
    return warpJoin(sums, AddRowSums());
}

} // namespace tokenloupe::cuda
