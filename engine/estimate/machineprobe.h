// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <cstdint>

namespace tokenloupe {

/// Of the last level of cache; 0 where the system does not tell. On a rented slice of a server this may be
/// the whole server's.
std::uint64_t lastLevelCacheBytes();

/// Bytes per second that `threads` threads read together from memory, from a buffer larger than the
/// last-level cache (twice it, between 512 MiB and 1 GiB, less where the machine has little memory): the best
/// of a few passes. Each thread reads one contiguous stretch, in large pages where the system gives them. The
/// buffer is gone when it returns.
Result<double> readBandwidth(int threads);
/// The same over and over from `bytes` of memory: what weights of that size can be read at, which the cache
/// may hold in part.
Result<double> readBandwidth(int threads, std::uint64_t bytes);

/// Multiplications and additions per second that `threads` threads reach together in the CPU's own matrix
/// product, on a matrix that stays in the cache: the best of a few passes, some hundredths of a second.
double matrixRate(int threads);

} // namespace tokenloupe
