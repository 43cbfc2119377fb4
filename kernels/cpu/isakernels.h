// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/attentionkernels.h"
#include "kernels/cpu/cpukernels.h"
#include "kernels/cpu/fastkernels.h"
#include "kernels/cpu/logitkernels.h"

// One function for each file that is compiled with options of its own. Calling one only returns a table;
// whether the machine can run what is in it is for cpuKernelsFor() to find out.

namespace tokenloupe {

const CpuKernels &portableKernels();
const CpuKernels &avx2Kernels();   ///< only where the build is for x86-64
const CpuKernels &avx512Kernels(); ///< only where the build is for x86-64

const FastKernels &portableFastKernels();
const FastKernels &avx2FastKernels();   ///< only where the build is for x86-64
const FastKernels &avx512FastKernels(); ///< only where the build is for x86-64

const LogitKernels &portableLogitKernels();
const LogitKernels &avx2LogitKernels();   ///< only where the build is for x86-64
const LogitKernels &avx512LogitKernels(); ///< only where the build is for x86-64

float portableReadAll(const std::byte *data, std::int64_t bytes);
float avx2ReadAll(const std::byte *data, std::int64_t bytes);   ///< likewise
float avx512ReadAll(const std::byte *data, std::int64_t bytes); ///< likewise

const AttentionKernels &portableAttentionKernels();
const AttentionKernels &avx2AttentionKernels();   ///< only where the build is for x86-64
const AttentionKernels &avx512AttentionKernels(); ///< only where the build is for x86-64

} // namespace tokenloupe
