// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/rowvalues.cuh"

namespace tokenloupe::cuda {

/// Calls start(threads, fours): `threads` is a WarpOfRow or a BlockOfRow and fours.value how many a thread
/// keeps, each as the launch wants them.
template <class Start>
cudaError_t dispatchRows(const RowLaunch &launch, Start start)
{
    if (launch.warpRows > 0) {
        return launch.fours == 1 ? start(WarpOfRow(), std::integral_constant<int, 1>())
                                 : start(WarpOfRow(), std::integral_constant<int, foursKept>());
    }
    switch (launch.fours) {
    case 0:
        return start(BlockOfRow(), std::integral_constant<int, 0>());
    case 1:
        return start(BlockOfRow(), std::integral_constant<int, 1>());
    default:
        return start(BlockOfRow(), std::integral_constant<int, foursKept>());
    }
}

} // namespace tokenloupe::cuda
