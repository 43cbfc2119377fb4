// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/cpukernels.h"

namespace tokenloupe {

/// The inner loops of attention for one instruction set. Like CpuKernels they work on a part that the caller
/// hands to one thread and allocate nothing. Keys and values are F32, F16 or BF16; a lane is one query of one
/// token.
///
/// Whichever way and with however many others a score is computed, it has the bits of CpuKernels::dot(), and
/// a weighted sum has those of axpy() for one position after the other. AVX2 and AVX-512 agree bit for bit.
struct AttentionKernels
{
    IsaLevel level;

    /// scores[lane * scoreStride + i] = query of the lane · key i, for all rows of `keys`.
    void (*scoreRows)(const WeightMatrix &keys, const float *queries, std::int64_t queryStride,
                      std::int64_t lanes, float *scores, std::int64_t scoreStride);
    /// out[c * stride + i] = value c of row i; columns behind the last up to a multiple of 16 are 0.
    void (*transposeRows)(const WeightMatrix &rows, float *out, std::int64_t stride);
    /// scoreRows() for `stride` (a multiple of 16) keys as transposeRows() leaves them, for many lanes:
    /// `columns` is a multiple of 16 and queries are 0 behind their own.
    void (*scoreTile)(const float *keys, std::int64_t stride, std::int64_t columns, const float *queries,
                      std::int64_t queryStride, std::int64_t lanes, float *scores, std::int64_t scoreStride);
    /// In place: x[i] = e^(x[i] - largest), n > 0 values (some hundreds: the sum is in float32).
    void (*softmaxPiece)(float *x, std::int64_t n, float *largest, float *sum);
    /// out[lane * outStride …] += Σ_i weights[lane * weightStride + i] · value i, i rising.
    void (*weighRows)(const WeightMatrix &values, const float *weights, std::int64_t weightStride,
                      std::int64_t lanes, float *out, std::int64_t outStride);
    /// total += part, where each is the largest score, the sum of the exponentials relative to it, 14 unused
    /// floats, and `width` values weighted by them, filled up to a multiple of 16.
    void (*mergeSums)(const float *part, float *total, std::int64_t width);
};

/// The kernels for `level`, or nullptr where this machine cannot run them.
const AttentionKernels *attentionKernelsFor(IsaLevel level);

} // namespace tokenloupe
