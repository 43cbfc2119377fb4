// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/superunits.cuh"
#include "kernels/cuda/typelaunchers.cuh"

namespace tokenloupe::cuda {

const TypeLaunchers *superLaunchers(TensorType type)
{
    static constexpr TypeLaunchers list[] = {commonLaunchers<FormatQ2_K>(), commonLaunchers<FormatQ3_K>(),
                                             commonLaunchers<FormatQ4_K>()};
    return findLaunchers(list, type);
}

} // namespace tokenloupe::cuda
