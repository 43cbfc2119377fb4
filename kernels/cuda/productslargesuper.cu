// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/superunits.cuh"
#include "kernels/cuda/ternaryunits.cuh"
#include "kernels/cuda/typelaunchers.cuh"

namespace tokenloupe::cuda {

const TypeLaunchers *largeSuperLaunchers(TensorType type)
{
    static constexpr TypeLaunchers list[] = {commonLaunchers<FormatQ5_K>(), commonLaunchers<FormatQ6_K>(),
                                             rareLaunchers<FormatQ8_K>(), rareLaunchers<FormatTQ1_0>(),
                                             rareLaunchers<FormatTQ2_0>()};
    return findLaunchers(list, type);
}

} // namespace tokenloupe::cuda
