// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/vectoravx512.h"

namespace tokenloupe::avx512 {

/// See codesportable.h for what each function has to do.
struct Codes
{
    using Reg = Vector::Reg;
    using Bytes = __m256i;

    static Bytes load(const void *p) { return _mm256_loadu_si256(static_cast<const __m256i *>(p)); }
    template <int shift>
    static Bytes moved(Bytes a, int mask)
    {
        if constexpr (shift > 0)
            a = _mm256_srli_epi16(a, shift);
        else if constexpr (shift < 0)
            a = _mm256_slli_epi16(a, -shift);
        return _mm256_and_si256(a, _mm256_set1_epi8(char(mask)));
    }
    static Bytes either(Bytes a, Bytes b) { return _mm256_or_si256(a, b); }
    static Bytes less(Bytes a, int n) { return _mm256_sub_epi8(a, _mm256_set1_epi8(char(n))); }
    static Bytes lookedUp(Bytes a, const std::int8_t (&levels)[16])
    {
        return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load128(levels)), a);
    }

    static void scaleAdd(Bytes a, Reg dLow, Reg mLow, Reg dHigh, Reg mHigh, Reg &low, Reg &high)
    {
        low =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm256_castsi256_si128(a))), dLow, mLow);
        high = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm256_extracti128_si256(a, 1))),
                               dHigh, mHigh);
    }
    static void scale(Bytes a, Reg dLow, Reg dHigh, Reg &low, Reg &high)
    {
        low = _mm512_mul_ps(fromSigned(_mm256_castsi256_si128(a)), dLow);
        high = _mm512_mul_ps(fromSigned(_mm256_extracti128_si256(a, 1)), dHigh);
    }
    static void nibbles(const void *q, Reg dLow, Reg mLow, Reg dHigh, Reg mHigh, Reg &low, Reg &high)
    {
        // The sixteen possible weights of each scale, picked by index: vpermps looks at the low four bits
        // only.
        const __m512 steps = _mm512_setr_ps(0.F, 1.F, 2.F, 3.F, 4.F, 5.F, 6.F, 7.F, 8.F, 9.F, 10.F, 11.F,
                                            12.F, 13.F, 14.F, 15.F);
        const __m512i index = _mm512_cvtepu8_epi32(load128(q));
        low = _mm512_permutexvar_ps(index, _mm512_fmadd_ps(steps, dLow, mLow));
        high = _mm512_permutexvar_ps(_mm512_srli_epi32(index, 4), _mm512_fmadd_ps(steps, dHigh, mHigh));
    }
    static void levels(const void *q, const std::int8_t (&levels)[16], Reg d, Reg &low, Reg &high)
    {
        const __m512 table = _mm512_mul_ps(fromSigned(load128(levels)), d);
        const __m512i index = _mm512_cvtepu8_epi32(load128(q));
        low = _mm512_permutexvar_ps(index, table);
        high = _mm512_permutexvar_ps(_mm512_srli_epi32(index, 4), table);
    }
    static Reg scaleWords(std::uint64_t first, std::uint64_t second, Reg d)
    {
        return _mm512_mul_ps(fromSigned(_mm_set_epi64x(std::int64_t(second), std::int64_t(first))), d);
    }
    static float half(const void *p)
    {
        std::uint16_t bits = 0;
        std::memcpy(&bits, p, sizeof bits);
        return _cvtsh_ss(bits);
    }

private:
    static __m128i load128(const void *p) { return _mm_loadu_si128(static_cast<const __m128i *>(p)); }
    static Reg fromSigned(__m128i a) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(a)); }
};

} // namespace tokenloupe::avx512
