// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/iq2units.cuh"
#include "kernels/cuda/typelaunchers.cuh"

namespace tokenloupe::cuda {

const TypeLaunchers *iq2Launchers(TensorType type)
{
    static constexpr TypeLaunchers list[] = {rareLaunchers<FormatIQ2_XXS>(), rareLaunchers<FormatIQ2_XS>(),
                                             rareLaunchers<FormatIQ2_S>()};
    return findLaunchers(list, type);
}

} // namespace tokenloupe::cuda
