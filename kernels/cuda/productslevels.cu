// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/levelunits.cuh"
#include "kernels/cuda/typelaunchers.cuh"

namespace tokenloupe::cuda {

const TypeLaunchers *levelLaunchers(TensorType type)
{
    static constexpr TypeLaunchers list[] = {commonLaunchers<FormatIQ4_NL>(), commonLaunchers<FormatIQ4_XS>(),
                                             commonLaunchers<FormatMXFP4>(), rareLaunchers<FormatNVFP4>()};
    return findLaunchers(list, type);
}

} // namespace tokenloupe::cuda
