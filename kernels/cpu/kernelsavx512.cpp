// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/codesavx512.h"
#include "kernels/cpu/isakernels.h"
#include "kernels/cpu/kerneltable.h"
#include "kernels/cpu/vectoravx512.h"

namespace tokenloupe {

const CpuKernels &avx512Kernels()
{
    static constexpr CpuKernels kernels = kernel::table<avx512::Vector>(IsaLevel::Avx512, "AVX-512");
    return kernels;
}

} // namespace tokenloupe
