// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/launchshape.h"

#include <cstdint>

// How operations on rows are shared out among threads. Pure functions of the host. A thread works on four
// neighbouring columns at a time.

namespace tokenloupe::cuda {

constexpr std::int32_t foursKept = 4;                       ///< that a thread keeps in registers at most
constexpr std::int32_t largestThreads = 1024;               ///< of a block
constexpr std::int32_t warpRowColumns = 32 * 4 * foursKept; ///< widest row of a warp
constexpr std::int32_t keptColumns = largestThreads * 4 * foursKept; ///< widest row that a block keeps
constexpr std::int32_t largestColumns = 1 << 30;                     ///< of a row: indices stay in 32 bits
constexpr std::int64_t largestGrid = (std::int64_t(1) << 31) - 1;    ///< blocks in x

/// Operations that join all values of a row: a warp for a short row, a block for a longer one.
struct RowLaunch
{
    LaunchShape shape;
    std::int32_t fours = 1;    ///< of each thread: 1, foursKept, or 0: too many to keep, rows are read again
    std::int32_t warpRows = 0; ///< rows of a block, one to a warp; 0: the block has one row
};

/// `blockSharedBytes` of shared memory where a block has one row. An empty grid when there is nothing to do
/// or a row is wider than largestColumns.
RowLaunch rowLaunch(std::int32_t rows, std::int32_t columns, std::size_t blockSharedBytes);

/// Operations on single values: pieces of rows, one block for each.
struct PieceLaunch
{
    LaunchShape shape;
    std::int32_t pieces = 0; ///< of a row
};

constexpr std::int32_t pieceColumns = 1024;

/// An empty grid where there are no values or more pieces than a grid has blocks.
PieceLaunch pieceLaunch(std::int32_t rows, std::int64_t columns);

} // namespace tokenloupe::cuda
