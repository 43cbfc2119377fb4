// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/attentiontable.h"
#include "kernels/cpu/isakernels.h"
#include "kernels/cpu/vectoravx2.h"

namespace tokenloupe {

const AttentionKernels &avx2AttentionKernels()
{
    static constexpr AttentionKernels kernels = kernel::attentionTable<avx2::Vector>(IsaLevel::Avx2);
    return kernels;
}

} // namespace tokenloupe
