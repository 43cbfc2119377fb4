// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/isakernels.h"
#include "kernels/cpu/logittable.h"
#include "kernels/cpu/readtable.h"
#include "kernels/cpu/vectoravx2.h"

namespace tokenloupe {

namespace avx2 {

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
    static void pack(Reg x, unsigned mask, std::uint32_t first, std::uint32_t *indices, float *values)
    {
        logitkernel::packOneByOne<Vector>(x, mask, first, indices, values);
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
