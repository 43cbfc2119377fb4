// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/iq1units.cuh"
#include "kernels/cuda/typelaunchers.cuh"

namespace tokenloupe::cuda {

const TypeLaunchers *iq1Launchers(TensorType type)
{
    static constexpr TypeLaunchers list[] = {rareLaunchers<FormatIQ1_S>(), rareLaunchers<FormatIQ1_M>()};
    return findLaunchers(list, type);
}

} // namespace tokenloupe::cuda
