// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/cpukernels.h"

#include <cstdint>

namespace tokenloupe {

/// Passes over the logits of a vocabulary: what sampling and its statistics are made of. AVX2 and
/// AVX-512 agree bit for bit, the portable set but for the rounding of `weightSum`.
struct LogitKernels
{
    IsaLevel level;
    const char *name;

    struct Scan
    {
        float maximum; ///< NaN is skipped; -inf when there is nothing else. +inf shows here
        std::int32_t hasNan;
    };
    Scan (*scan)(const float *x, std::int64_t n);

    /// Appends index and value of those with low ≤ x < high, in rising order, starting at x[from]. Stops when
    /// `room` or a few more are there or n is reached; returns where to go on. Arrays hold room + 64.
    struct Found
    {
        std::uint32_t *indices;
        float *values;
        std::int64_t count;
        std::int64_t room;
    };
    std::int64_t (*gather)(const float *x, std::int64_t from, std::int64_t n, float low, float high,
                           Found *found);

    /// The values alone, into `out`, which holds n + 16; returns how many.
    std::int64_t (*select)(const float *x, std::int64_t n, float low, float high, float *out);

    /// How many are ≥ bound.
    std::int64_t (*countAtLeast)(const float *x, std::int64_t n, float bound);
    /// out[i] = x[i] / divisor, rounded once; -inf where x[i] < floor. `out` may be `x`.
    void (*divide)(const float *x, float floor, float divisor, std::int64_t n, float *out);
    /// Σ e^(x - maximum): float exponentials, summed in double; -inf and what else is tiny counts as e^-87,
    /// which is nothing. `maximum` is finite and none is larger.
    double (*weightSum)(const float *x, std::int64_t n, float maximum);
};

/// The kernels for `level`, or nullptr where this machine cannot run them.
const LogitKernels *logitKernelsFor(IsaLevel level);
/// The best that this machine runs.
const LogitKernels &logitKernels();

} // namespace tokenloupe
