// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/formats/tensortype.h"

#include <cstddef>
#include <cstdint>

namespace tokenloupe {

enum class IsaLevel : std::uint8_t { Portable, Avx2, Avx512 };

/// A matrix as stored in the file: `rows` rows of `columns` values, one row after the other.
struct WeightMatrix
{
    TensorType type = TensorType::F32;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    const std::byte *data = nullptr;
};

/// The inner loops of the CPU backend for one instruction set. All of them work on a part of the output that
/// the caller hands out to one thread, allocate nothing and touch nothing else.
///
/// Order of summation: every dot product keeps 16 partial sums (lane = column mod 16), adds columns in rising
/// order and joins the lanes as a fixed tree. So a result does not depend on how many tokens, rows or threads
/// share the call, and AVX2 and AVX-512 agree bit for bit.
struct CpuKernels
{
    IsaLevel level;
    const char *name; ///< "AVX-512", "AVX2", "portable"

    /// y[t * yStride + r] = Σ_c W[r][c] · x[t * xStride + c] for r in [rowBegin, rowEnd), t in [0, tokens).
    /// float32 activations ("exact" precision). Strides in floats.
    void (*matmul)(const WeightMatrix &w, const float *x, std::int64_t xStride, std::int64_t tokens, float *y,
                   std::int64_t yStride, std::int64_t rowBegin, std::int64_t rowEnd);
    /// One stored row as float32: out[0 … columns).
    void (*dequantizeRow)(const WeightMatrix &w, std::int64_t row, float *out);
    /// y = x / sqrt(mean(x²) + eps) · weight, n values. `y` may be `x`.
    void (*rmsNorm)(const float *x, const float *weight, float eps, std::int64_t n, float *y);
    /// y += x
    void (*add)(const float *x, std::int64_t n, float *y);
    /// y = silu(gate) · up, silu(v) = v / (1 + e^-v)
    void (*siluMultiply)(const float *gate, const float *up, std::int64_t n, float *y);
    /// Dot product of n float32 values.
    float (*dot)(const float *a, const float *b, std::int64_t n);
    /// y += scale · x
    void (*axpy)(float scale, const float *x, std::int64_t n, float *y);
    /// y *= scale
    void (*scale)(float scale, std::int64_t n, float *y);
    /// In place: x[i] = exp(x[i] - max); returns the sum. -inf gives exactly 0.
    float (*expSum)(float *x, float max, std::int64_t n);
    /// Largest value of n (n > 0); NaN is skipped, all NaN gives -inf.
    float (*maximum)(const float *x, std::int64_t n);
    void (*toHalf)(const float *x, std::int64_t n, std::uint16_t *out); ///< IEEE binary16, nearest even
    void (*fromHalf)(const std::uint16_t *x, std::int64_t n, float *out);
    /// Σ exp(x - max) and Σ (x - max)·exp(x - max) in double: what softmax statistics need. Skips -inf.
    void (*softmaxMoments)(const float *x, std::int64_t n, float max, double *sumExp, double *sumXExp);
    /// n values (whole blocks) as F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1 or Q8_0, each code the nearest. The
    /// same bytes on every set. NaN and infinities give some number in the block types.
    void (*quantizeRow)(TensorType type, const float *x, std::int64_t n, std::byte *out);
    /// y = (x - mean) / sqrt(variance + eps) · weight + bias, n values; `bias` may be null. `y` may be `x`.
    void (*layerNorm)(const float *x, const float *weight, const float *bias, float eps, std::int64_t n,
                      float *y);
    /// y *= x
    void (*multiply)(const float *x, std::int64_t n, float *y);
    /// y = gelu(x), as x / (1 + e^-2u), u = √(2/π) · (x + 0.044715 x³): the tanh form. `y` may be `x`.
    void (*geluTanh)(const float *x, std::int64_t n, float *y);
    /// y = x · Φ(x): gelu by the error function, 2.5e-7 · |x| off at most. `y` may be `x`.
    void (*gelu)(const float *x, std::int64_t n, float *y);
    /// x = cap · tanh(x / cap), 2e-7 · cap off at most
    void (*softCap)(float cap, std::int64_t n, float *x);
    /// As quantizeRow, for weights that are kept: the scales of Q4_0 and Q5_0 are searched for the least
    /// squared error, and there are Q4_K, Q5_K and Q6_K. NaN counts as 0. The same bytes on every set.
    void (*quantizeWeights)(TensorType type, const float *x, std::int64_t n, std::byte *out);
};

/// The kernels for `level`, or nullptr where this machine cannot run them.
const CpuKernels *cpuKernelsFor(IsaLevel level);
/// The best that this machine runs.
const CpuKernels &cpuKernels();

} // namespace tokenloupe
