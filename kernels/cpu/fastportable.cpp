// SPDX-License-Identifier: GPL-3.0-or-later
#define TOKENLOUPE_PORTABLE_FAST_KERNELS
#include "kernels/cpu/fasttable.h"
#include "kernels/cpu/fastvectorportable.h"
#include "kernels/cpu/isakernels.h"

namespace tokenloupe {

const FastKernels &portableFastKernels()
{
    static constexpr FastKernels kernels =
        fastkernel::table<portable::FastVector>(IsaLevel::Portable, "portable");
    return kernels;
}

} // namespace tokenloupe
