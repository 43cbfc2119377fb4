// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/cpukernels.h"

#include "kernels/cpu/isakernels.h"
#include "kernels/cpu/readkernel.h"

#ifdef TOKENLOUPE_X86_KERNELS
#include <cpuid.h>
#endif

namespace tokenloupe {

namespace {

#ifdef TOKENLOUPE_X86_KERNELS

// __builtin_cpu_supports() also asks whether the operating system saves the wide registers; "f16c" is not
// among the names that every compiler knows.
bool hasHalfConversion()
{
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool runsAvx2()
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && hasHalfConversion();
}

bool runsAvx512()
{
    return runsAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

bool runsVnni()
{
    return runsAvx512() && __builtin_cpu_supports("avx512vnni");
}

#endif

} // namespace

const CpuKernels *cpuKernelsFor(IsaLevel level)
{
#ifdef TOKENLOUPE_X86_KERNELS
    static const bool avx2 = runsAvx2();
    static const bool avx512 = runsAvx512();
    if (level == IsaLevel::Avx512)
        return avx512 ? &avx512Kernels() : nullptr;
    if (level == IsaLevel::Avx2)
        return avx2 ? &avx2Kernels() : nullptr;
#endif
    return level == IsaLevel::Portable ? &portableKernels() : nullptr;
}

const CpuKernels &cpuKernels()
{
    if (const CpuKernels *kernels = cpuKernelsFor(IsaLevel::Avx512))
        return *kernels;
    if (const CpuKernels *kernels = cpuKernelsFor(IsaLevel::Avx2))
        return *kernels;
    return portableKernels();
}

const LogitKernels *logitKernelsFor(IsaLevel level)
{
    if (!cpuKernelsFor(level))
        return nullptr;
#ifdef TOKENLOUPE_X86_KERNELS
    if (level == IsaLevel::Avx512)
        return &avx512LogitKernels();
    if (level == IsaLevel::Avx2)
        return &avx2LogitKernels();
#endif
    return &portableLogitKernels();
}

const LogitKernels &logitKernels()
{
    static const LogitKernels &best = *logitKernelsFor(cpuKernels().level);
    return best;
}

float readAll(const std::byte *data, std::int64_t bytes)
{
#ifdef TOKENLOUPE_X86_KERNELS
    if (cpuKernels().level == IsaLevel::Avx512)
        return avx512ReadAll(data, bytes);
    if (cpuKernels().level == IsaLevel::Avx2)
        return avx2ReadAll(data, bytes);
#endif
    return portableReadAll(data, bytes);
}

const FastKernels *fastKernelsFor(IsaLevel level)
{
#ifdef TOKENLOUPE_X86_KERNELS
    static const bool avx2 = runsAvx2();
    static const bool vnni = runsVnni();
    if (level == IsaLevel::Avx512)
        return vnni ? &avx512FastKernels() : nullptr;
    if (level == IsaLevel::Avx2)
        return avx2 ? &avx2FastKernels() : nullptr;
#endif
    return level == IsaLevel::Portable ? &portableFastKernels() : nullptr;
}

const FastKernels &fastKernels()
{
    if (const FastKernels *kernels = fastKernelsFor(IsaLevel::Avx512))
        return *kernels;
    if (const FastKernels *kernels = fastKernelsFor(IsaLevel::Avx2))
        return *kernels;
    return portableFastKernels();
}

const AttentionKernels *attentionKernelsFor(IsaLevel level)
{
#ifdef TOKENLOUPE_X86_KERNELS
    if (level == IsaLevel::Avx512)
        return cpuKernelsFor(level) ? &avx512AttentionKernels() : nullptr;
    if (level == IsaLevel::Avx2)
        return cpuKernelsFor(level) ? &avx2AttentionKernels() : nullptr;
#endif
    return level == IsaLevel::Portable ? &portableAttentionKernels() : nullptr;
}

} // namespace tokenloupe
