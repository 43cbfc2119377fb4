// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/vectoravx2.h"

namespace tokenloupe::avx2 {

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
        low = Vector::multiplyAdd(fromUnsigned(_mm256_castsi256_si128(a)), dLow, mLow);
        high = Vector::multiplyAdd(fromUnsigned(_mm256_extracti128_si256(a, 1)), dHigh, mHigh);
    }
    static void scale(Bytes a, Reg dLow, Reg dHigh, Reg &low, Reg &high)
    {
        low = Vector::multiply(fromSigned(_mm256_castsi256_si128(a)), dLow);
        high = Vector::multiply(fromSigned(_mm256_extracti128_si256(a, 1)), dHigh);
    }
    static void nibbles(const void *q, Reg dLow, Reg mLow, Reg dHigh, Reg mHigh, Reg &low, Reg &high)
    {
        const __m128i bytes = load128(q);
        low = Vector::multiplyAdd(fromUnsigned(lowHalves(bytes)), dLow, mLow);
        high = Vector::multiplyAdd(fromUnsigned(highHalves(bytes)), dHigh, mHigh);
    }
    static void levels(const void *q, const std::int8_t (&levels)[16], Reg d, Reg &low, Reg &high)
    {
        const __m128i bytes = load128(q);
        const __m128i table = load128(levels);
        low = Vector::multiply(fromSigned(_mm_shuffle_epi8(table, lowHalves(bytes))), d);
        high = Vector::multiply(fromSigned(_mm_shuffle_epi8(table, highHalves(bytes))), d);
    }
    static Reg scaleWords(std::uint64_t first, std::uint64_t second, Reg d)
    {
        return Vector::multiply(fromSigned(_mm_set_epi64x(std::int64_t(second), std::int64_t(first))), d);
    }
    static float half(const void *p)
    {
        std::uint16_t bits = 0;
        std::memcpy(&bits, p, sizeof bits);
        return _cvtsh_ss(bits);
    }

private:
    static __m128i load128(const void *p) { return _mm_loadu_si128(static_cast<const __m128i *>(p)); }
    static __m128i lowHalves(__m128i a) { return _mm_and_si128(a, _mm_set1_epi8(15)); }
    static __m128i highHalves(__m128i a) { return lowHalves(_mm_srli_epi16(a, 4)); }
    static Reg fromUnsigned(__m128i a)
    {
        return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(a)),
                _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(a, a)))};
    }
    static Reg fromSigned(__m128i a)
    {
        return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(a)),
                _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(a, a)))};
    }
};

} // namespace tokenloupe::avx2
