// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/codesavx2.h"
#include "kernels/cpu/isakernels.h"
#include "kernels/cpu/kerneltable.h"
#include "kernels/cpu/vectoravx2.h"

namespace tokenloupe {

const CpuKernels &avx2Kernels()
{
    static constexpr CpuKernels kernels = kernel::table<avx2::Vector>(IsaLevel::Avx2, "AVX2");
    return kernels;
}

} // namespace tokenloupe
