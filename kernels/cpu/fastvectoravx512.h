// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <immintrin.h>

// Sixteen lanes for the fast kernel templates, see fastvectorportable.h for what each function has to do.
// Included by fastavx512.cpp only.

namespace tokenloupe::avx512 {

struct FastVector
{
    using Floats = __m512;
    using Ints = __m512i;
    using Bytes = __m512i;

    static constexpr int tokens = 8;

    static Floats zero() { return _mm512_setzero_ps(); }
    static Floats all(float value) { return _mm512_set1_ps(value); }
    static Floats allFloats(const void *p) { return _mm512_set1_ps(*static_cast<const float *>(p)); }
    static Floats load(const float *p) { return _mm512_loadu_ps(p); }
    static Floats loadHalf(const void *p)
    {
        return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i *>(p)));
    }
    static void storePart(float *p, Floats a, int n)
    {
        _mm512_mask_storeu_ps(p, __mmask16((1U << n) - 1U), a);
    }
    static Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
    static Floats multiplyAdd(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }

    static Ints zeroInts() { return _mm512_setzero_si512(); }
    static Ints allOf(int value) { return _mm512_set1_epi32(value); }
    static Ints allInts(const void *p) { return _mm512_set1_epi32(*static_cast<const int *>(p)); }
    static Ints addInts(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
    static Ints subtractInts(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
    static Ints largerInts(Ints a, Ints b) { return _mm512_max_epi32(a, b); }
    template <int bits>
    static Ints shiftLeft(Ints a)
    {
        return _mm512_slli_epi32(a, bits);
    }
    template <int bits>
    static Ints shiftRight(Ints a)
    {
        return _mm512_srai_epi32(a, bits);
    }
    static Floats toFloat(Ints a) { return _mm512_cvtepi32_ps(a); }
    static Ints round(Floats a) { return _mm512_cvtps_epi32(a); }
    static Ints magnitudeBits(Floats a)
    {
        return _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x7FFFFFFF));
    }
    static int sum(Ints a) { return _mm512_reduce_add_epi32(a); }
    static int largest(Ints a) { return _mm512_reduce_max_epi32(a); }
    static void storeBytes(std::int8_t *p, Ints a)
    {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm512_cvtepi32_epi8(a));
    }

    static Bytes loadBytes(const void *p) { return _mm512_loadu_si512(p); }
    static Bytes lowNibbles(Bytes a) { return _mm512_and_si512(a, _mm512_set1_epi8(15)); }
    static Bytes highNibbles(Bytes a) { return lowNibbles(_mm512_srli_epi16(a, 4)); }
    template <int j>
    static Bytes withFifthBit(Bytes a, Bytes fifth)
    {
        const Bytes there = j <= 4 ? _mm512_slli_epi16(fifth, unsigned(j <= 4 ? 4 - j : 0))
                                   : _mm512_srli_epi16(fifth, unsigned(j <= 4 ? 0 : j - 4));
        return _mm512_ternarylogic_epi32(a, there, _mm512_set1_epi8(16), 0xF8); // a | (there & 16)
    }
    template <int codeBits>
    static Ints dot(Ints sum, Bytes codes, const void *four)
    {
        return _mm512_dpbusd_epi32(sum, codes, allInts(four));
    }
};

} // namespace tokenloupe::avx512
