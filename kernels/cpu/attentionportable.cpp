// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/attentiontable.h"
#include "kernels/cpu/isakernels.h"
#include "kernels/cpu/vectorportable.h"

namespace tokenloupe {

const AttentionKernels &portableAttentionKernels()
{
    static constexpr AttentionKernels kernels = kernel::attentionTable<portable::Vector>(IsaLevel::Portable);
    return kernels;
}

} // namespace tokenloupe
