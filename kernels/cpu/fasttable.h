// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/fastkernels.h"
#include "kernels/cpu/fastmatmul.h"
#include "kernels/cpu/fastquantize.h"

namespace tokenloupe::fastkernel {

/// All fast kernels over the fast Vector type V.
template <class V>
constexpr FastKernels table(IsaLevel level, const char *name)
{
    return {level, name, quantizeRow<V>, matmul<V>};
}

} // namespace tokenloupe::fastkernel
