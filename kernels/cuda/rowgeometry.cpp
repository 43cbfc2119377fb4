// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/rowgeometry.h"

#include <algorithm>

namespace tokenloupe::cuda {

namespace {

constexpr std::int32_t warpThreads = 32;
constexpr std::int32_t warpsOfShortRows = 4;

unsigned wholeWarps(std::int32_t threads)
{
    return static_cast<unsigned>(ceilDivide(threads, warpThreads) * warpThreads);
}

} // namespace

RowLaunch rowLaunch(std::int32_t rows, std::int32_t columns, std::size_t blockSharedBytes)
{
    RowLaunch launch;
    if (rows <= 0 || columns <= 0 || columns > largestColumns) {
        launch.shape.grid.x = 0;
        return launch;
    }
    const std::int32_t fours = ceilDivide(columns, 4);
    if (columns <= warpRowColumns) {
        launch.fours = fours <= warpThreads ? 1 : foursKept;
        launch.warpRows = warpsOfShortRows;
        launch.shape.grid.x = static_cast<unsigned>(ceilDivide(rows, warpsOfShortRows));
        launch.shape.block.x = static_cast<unsigned>(warpsOfShortRows * warpThreads);
        return launch;
    }
    launch.shape.grid.x = static_cast<unsigned>(rows);
    launch.shape.sharedBytes = blockSharedBytes;
    if (fours <= largestThreads)
        launch.fours = 1;
    else
        launch.fours = columns <= keptColumns ? foursKept : 0;
    launch.shape.block.x = launch.fours == 0 ? static_cast<unsigned>(largestThreads)
                                             : wholeWarps(ceilDivide(fours, launch.fours));
    return launch;
}

PieceLaunch pieceLaunch(std::int32_t rows, std::int64_t columns)
{
    PieceLaunch launch;
    const std::int64_t pieces = columns > 0 ? ceilDivide(columns, std::int64_t(pieceColumns)) : 0;
    if (rows <= 0 || pieces == 0 || pieces > largestGrid / rows) {
        launch.shape.grid.x = 0;
        return launch;
    }
    launch.pieces = static_cast<std::int32_t>(pieces);
    launch.shape.grid.x = static_cast<unsigned>(rows * pieces);
    launch.shape.block.x =
        wholeWarps(static_cast<std::int32_t>(std::min<std::int64_t>(columns, pieceColumns) + 3) / 4);
    return launch;
}

} // namespace tokenloupe::cuda
