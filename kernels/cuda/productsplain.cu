// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/plainproduct.cuh"
#include "kernels/cuda/typelaunchers.cuh"

namespace tokenloupe::cuda {

namespace {

template <class Plain>
constexpr TypeLaunchers launchersOf(TensorType type)
{
    return {type,
            {launchPlainProduct<Plain, 1>, launchPlainProduct<Plain, 2>, launchPlainProduct<Plain, 4>,
             launchPlainProduct<Plain, 8>},
            {},
            launchPlainDecode<Plain>};
}

} // namespace

const TypeLaunchers *plainLaunchers(TensorType type)
{
    static constexpr TypeLaunchers list[] = {launchersOf<PlainF32>(TensorType::F32),
                                             launchersOf<PlainF16>(TensorType::F16),
                                             launchersOf<PlainBF16>(TensorType::BF16)};
    return findLaunchers(list, type);
}

} // namespace tokenloupe::cuda
