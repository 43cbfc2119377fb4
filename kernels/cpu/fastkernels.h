// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/cpukernels.h"
#include "kernels/cpu/packedformat.h"

#include <cstddef>
#include <cstdint>

namespace tokenloupe {

/// The matrix products of the "fast" precision for one instruction set: packed weights times quantised
/// activations, in integers within each block. Like CpuKernels they work on a part that the caller hands to
/// one thread and allocate nothing.
///
/// Order of summation: each block of 32 columns is an exact integer sum, and the blocks of a row are added up
/// one after the other with one fused multiply-add each. So all sets give the same bits, for any number of
/// tokens, rows or threads in the call.
struct FastKernels
{
    IsaLevel level;
    const char *name; ///< "AVX-512 VNNI", "AVX2", "portable"

    /// x[0 … n) as an ActivationRow; n is a multiple of 32, `out` has room for activationRowBytes(n).
    void (*quantizeRow)(const float *x, std::int64_t n, std::byte *out);
    /// y[t · yStride + r] = Σ_c W[r][c] · x[t][c] for the rows of stripes [begin, end) and t in [0, tokens).
    /// Token t's ActivationRow is at x + t · activationRowBytes(columns).
    void (*matmul)(const PackedMatrix &w, const std::byte *x, std::int64_t tokens, float *y,
                   std::int64_t yStride, std::int64_t stripeBegin, std::int64_t stripeEnd);
};

/// The kernels for `level`, or nullptr where this machine cannot run them.
const FastKernels *fastKernelsFor(IsaLevel level);
/// The best that this machine runs.
const FastKernels &fastKernels();

} // namespace tokenloupe
