// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/attentiontable.h"
#include "kernels/cpu/isakernels.h"
#include "kernels/cpu/vectoravx512.h"

namespace tokenloupe {

const AttentionKernels &avx512AttentionKernels()
{
    static constexpr AttentionKernels kernels = kernel::attentionTable<avx512::Vector>(IsaLevel::Avx512);
    return kernels;
}

} // namespace tokenloupe
