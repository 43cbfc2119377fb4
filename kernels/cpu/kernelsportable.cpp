// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/codesportable.h"
#include "kernels/cpu/isakernels.h"
#include "kernels/cpu/kerneltable.h"
#include "kernels/cpu/vectorportable.h"

namespace tokenloupe {

const CpuKernels &portableKernels()
{
    static constexpr CpuKernels kernels = kernel::table<portable::Vector>(IsaLevel::Portable, "portable");
    return kernels;
}

} // namespace tokenloupe
