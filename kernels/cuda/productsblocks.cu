// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/blockunits.cuh"
#include "kernels/cuda/typelaunchers.cuh"

namespace tokenloupe::cuda {

const TypeLaunchers *blockLaunchers(TensorType type)
{
    static constexpr TypeLaunchers list[] = {commonLaunchers<FormatQ4_0>(), commonLaunchers<FormatQ4_1>(),
                                             commonLaunchers<FormatQ5_0>(), commonLaunchers<FormatQ5_1>(),
                                             commonLaunchers<FormatQ8_0>()};
    return findLaunchers(list, type);
}

} // namespace tokenloupe::cuda
