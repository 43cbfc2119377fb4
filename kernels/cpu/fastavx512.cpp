// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/fasttable.h"
#include "kernels/cpu/fastvectoravx512.h"
#include "kernels/cpu/isakernels.h"

namespace tokenloupe {

const FastKernels &avx512FastKernels()
{
    static constexpr FastKernels kernels =
        fastkernel::table<avx512::FastVector>(IsaLevel::Avx512, "AVX-512 VNNI");
    return kernels;
}

} // namespace tokenloupe
