// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

namespace tokenloupe {

/// Bytes per second that `threads` threads read together from memory, from a buffer larger than the
/// last-level cache (512 MiB, less where the machine has little memory): the best of a few passes, about a
/// third of a second. The buffer is gone when it returns.
Result<double> readBandwidth(int threads);

/// Multiplications and additions per second that `threads` threads reach together in the CPU's own matrix
/// product, on a matrix that stays in the cache: the best of a few passes, some hundredths of a second.
double matrixRate(int threads);

} // namespace tokenloupe
