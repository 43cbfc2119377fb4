// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/isakernels.h"
#include "kernels/cpu/logittable.h"
#include "kernels/cpu/readtable.h"
#include "kernels/cpu/vectoravx512.h"

namespace tokenloupe {

namespace avx512 {

struct LogitVector : Vector
{
    static unsigned between(Reg x, Reg low, Reg high)
    {
        return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(x, low, _CMP_GE_OQ), x, high, _CMP_LT_OQ);
    }
    static unsigned unordered(Reg x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q); }
    static Reg infiniteWhereLess(Reg a, Reg x, Reg y)
    {
        return _mm512_mask_mov_ps(a, _mm512_cmp_ps_mask(x, y, _CMP_LT_OQ), all(kernel::minusInfinity));
    }
    static DoubleReg addDoubleFrom(DoubleReg sum, const float *p)
    {
        return {_mm512_add_pd(sum.low, _mm512_cvtps_pd(_mm256_loadu_ps(p))),
                _mm512_add_pd(sum.high, _mm512_cvtps_pd(_mm256_loadu_ps(p + 8)))};
    }
    // In registers and then a whole store: compressing into memory is slow on some processors.
    static void pack(Reg x, unsigned mask, float *out)
    {
        _mm512_storeu_ps(out, _mm512_maskz_compress_ps(__mmask16(mask), x));
    }
    static void packIndices(std::uint32_t first, unsigned mask, std::uint32_t *out)
    {
        const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        const __m512i at = _mm512_add_epi32(lanes, _mm512_set1_epi32(int(first)));
        _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(__mmask16(mask), at));
    }
};

} // namespace avx512

const LogitKernels &avx512LogitKernels()
{
    static constexpr LogitKernels kernels =
        logitkernel::table<avx512::LogitVector>(IsaLevel::Avx512, "AVX-512");
    return kernels;
}

float avx512ReadAll(const std::byte *data, std::int64_t bytes)
{
    return readkernel::readAll<avx512::Vector>(data, bytes);
}

} // namespace tokenloupe
