// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/iq3units.cuh"
#include "kernels/cuda/typelaunchers.cuh"

namespace tokenloupe::cuda {

const TypeLaunchers *iq3Launchers(TensorType type)
{
    static constexpr TypeLaunchers list[] = {rareLaunchers<FormatIQ3_XXS>(), rareLaunchers<FormatIQ3_S>()};
    return findLaunchers(list, type);
}

} // namespace tokenloupe::cuda
