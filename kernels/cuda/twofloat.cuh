// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/reduce.cuh"

#include <cmath>
#include <cuda_runtime.h>

// Sums of float32 numbers with more than 40 bits, in float32 operations: most cards do 32 or 64 of those in
// the time of one in float64. Not for sums past float32's range.

namespace tokenloupe::cuda {

/// The number high + low; |low| is at most half a unit in the last place of high.
struct TwoFloat
{
    float high = 0.0F;
    float low = 0.0F;
};

/// a + b without rounding.
__device__ inline TwoFloat exactSum(float a, float b)
{
    const float high = a + b;
    const float fromB = high - a;
    return {high, (a - (high - fromB)) + (b - fromB)};
}

/// The same where |a| ≥ |b| or a is 0.
__device__ inline TwoFloat exactSumOrdered(float a, float b)
{
    const float high = a + b;
    return {high, b - (high - a)};
}

/// a · b without rounding, where the error is no smaller than float32's smallest.
__device__ inline TwoFloat exactProduct(float a, float b)
{
    const float high = __fmul_rn(a, b); // never one fused operation with the sum that it goes into
    return {high, fmaf(a, b, -high)};
}

__device__ inline TwoFloat operator+(TwoFloat a, TwoFloat b)
{
    const TwoFloat sum = exactSum(a.high, b.high);
    return exactSumOrdered(sum.high, sum.low + (a.low + b.low));
}

__device__ inline TwoFloat operator+(TwoFloat a, float b)
{
    const TwoFloat sum = exactSum(a.high, b);
    return exactSumOrdered(sum.high, sum.low + a.low);
}

__device__ inline TwoFloat operator/(TwoFloat a, float divisor)
{
    const float high = a.high / divisor;
    const float rest = fmaf(-high, divisor, a.high) + a.low;
    return exactSumOrdered(high, rest / divisor);
}

/// 1 / √a, nearly always the nearest float32. a is a normal number above 0.
__device__ inline float reciprocalRoot(TwoFloat a)
{
    const float root = 1.0F / sqrtf(a.high);
    // One step of Newton's, with 1 - a · root² free of the cancellation.
    const TwoFloat square = exactProduct(root, root);
    const float rest = fmaf(-a.high, square.high, 1.0F) - fmaf(a.high, square.low, a.low * square.high);
    return fmaf(0.5F * root, rest, root);
}

__device__ inline double toDouble(TwoFloat a)
{
    return static_cast<double>(a.high) + static_cast<double>(a.low);
}

__device__ inline TwoFloat fromLane(TwoFloat value, int mask)
{
    return {fromLane(value.high, mask), fromLane(value.low, mask)};
}

} // namespace tokenloupe::cuda
