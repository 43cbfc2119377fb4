// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/isakernels.h"
#include "kernels/cpu/logittable.h"
#include "kernels/cpu/readtable.h"
#include "kernels/cpu/vectoravx2.h"

namespace tokenloupe {

namespace avx2 {

/// For each of the 256 masks: the lanes whose bits are set, a byte each, the lowest first.
struct SetLanes
{
    std::uint64_t of[256] = {};

    constexpr SetLanes()
    {
        for (unsigned mask = 0; mask < 256; ++mask) {
            int count = 0;
            for (unsigned lane = 0; lane < 8; ++lane) {
                if ((mask >> lane & 1) != 0)
                    of[mask] |= std::uint64_t(lane) << (8 * count++);
            }
        }
    }
};
constexpr SetLanes setLanes;

struct LogitVector : Vector
{
    static unsigned between(Reg x, Reg low, Reg high)
    {
        const auto half = [](__m256 value, __m256 lowest, __m256 highest) {
            return unsigned(_mm256_movemask_ps(_mm256_and_ps(_mm256_cmp_ps(value, lowest, _CMP_GE_OQ),
                                                             _mm256_cmp_ps(value, highest, _CMP_LT_OQ))));
        };
        return half(x.low, low.low, high.low) | half(x.high, low.high, high.high) << 8;
    }
    static unsigned unordered(Reg x)
    {
        return unsigned(_mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(x.low, x.low, _CMP_UNORD_Q),
                                                        _mm256_cmp_ps(x.high, x.high, _CMP_UNORD_Q))));
    }
    static Reg infiniteWhereLess(Reg a, Reg x, Reg y)
    {
        const Reg least = all(kernel::minusInfinity);
        return {_mm256_blendv_ps(a.low, least.low, _mm256_cmp_ps(x.low, y.low, _CMP_LT_OQ)),
                _mm256_blendv_ps(a.high, least.high, _mm256_cmp_ps(x.high, y.high, _CMP_LT_OQ))};
    }
    static DoubleReg addDoubleFrom(DoubleReg sum, const float *p)
    {
        for (int i = 0; i < 4; ++i)
            sum.part[i] = _mm256_add_pd(sum.part[i], _mm256_cvtps_pd(_mm_loadu_ps(p + 4 * i)));
        return sum;
    }
    static void pack(Reg x, unsigned mask, float *out)
    {
        _mm256_storeu_ps(out, _mm256_permutevar8x32_ps(x.low, lanesOf(mask & 255)));
        out += __builtin_popcount(mask & 255);
        _mm256_storeu_ps(out, _mm256_permutevar8x32_ps(x.high, lanesOf(mask >> 8)));
    }
    static void packIndices(std::uint32_t first, unsigned mask, std::uint32_t *out)
    {
        storeIndices(out, first, mask & 255);
        storeIndices(out + __builtin_popcount(mask & 255), first + 8, mask >> 8);
    }

private:
    static __m256i lanesOf(unsigned mask)
    {
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(&setLanes.of[mask])));
    }
    static void storeIndices(std::uint32_t *out, std::uint32_t first, unsigned mask)
    {
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(out),
                            _mm256_add_epi32(lanesOf(mask), _mm256_set1_epi32(int(first))));
    }
};

} // namespace avx2

const LogitKernels &avx2LogitKernels()
{
    static constexpr LogitKernels kernels = logitkernel::table<avx2::LogitVector>(IsaLevel::Avx2, "AVX2");
    return kernels;
}

float avx2ReadAll(const std::byte *data, std::int64_t bytes)
{
    return readkernel::readAll<avx2::Vector>(data, bytes);
}

} // namespace tokenloupe
