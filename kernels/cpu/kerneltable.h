// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/activationkernels.h"
#include "kernels/cpu/cpukernels.h"
#include "kernels/cpu/matmulkernels.h"
#include "kernels/cpu/quantizekernels.h"
#include "kernels/cpu/vectorkernels.h"
#include "kernels/cpu/weightquantize.h"

namespace tokenloupe::kernel {

/// All kernels over the Vector type V.
template <class V>
constexpr CpuKernels table(IsaLevel level, const char *name)
{
    return {level,           name,        matmul<V>,         dequantizeRow<V>,  rmsNorm<V>,   add<V>,
            siluMultiply<V>, dot<V>,      axpy<V>,           scale<V>,          expSum<V>,    maximum<V>,
            toHalf<V>,       fromHalf<V>, softmaxMoments<V>, quantizeRow<V>,    layerNorm<V>, multiply<V>,
            geluTanh<V>,     gelu<V>,     softCap<V>,        quantizeWeights<V>};
}

} // namespace tokenloupe::kernel
