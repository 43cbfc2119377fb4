// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/attentionkernels.h"
#include "kernels/cpu/attentionrows.h"
#include "kernels/cpu/attentiontiles.h"

namespace tokenloupe::kernel {

/// All attention kernels over the Vector type V.
template <class V>
constexpr AttentionKernels attentionTable(IsaLevel level)
{
    return {level, scoreRows<V>, transposeRows<V>, scoreTile<V>, softmaxPiece<V>, weighRows<V>, mergeSums<V>};
}

} // namespace tokenloupe::kernel
