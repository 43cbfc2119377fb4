// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/fasttable.h"
#include "kernels/cpu/fastvectoravx2.h"
#include "kernels/cpu/isakernels.h"

namespace tokenloupe {

const FastKernels &avx2FastKernels()
{
    static constexpr FastKernels kernels = fastkernel::table<avx2::FastVector>(IsaLevel::Avx2, "AVX2");
    return kernels;
}

} // namespace tokenloupe
