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

    using Words = __m512i;

    static constexpr int wordTokens = 3;
    static constexpr int tileStripes = 2;
    static constexpr int tileTokens = 6;

    static Floats zero() { return _mm512_setzero_ps(); }
    static Floats all(float value) { return _mm512_set1_ps(value); }
    static Floats allFloats(const void *p) { return _mm512_set1_ps(*static_cast<const float *>(p)); }
    static Floats load(const float *p) { return _mm512_loadu_ps(p); }
    static Floats loadHalf(const void *p)
    {
        return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i *>(p)));
    }
    static Floats loadFloats(const void *p) { return _mm512_loadu_ps(p); }
    static void storeFloats(void *p, Floats a) { _mm512_storeu_ps(p, a); }
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
    static Ints multiplyInts(Ints a, Ints b) { return _mm512_mullo_epi32(a, b); }
    static Ints bothInts(Ints a, int mask) { return _mm512_and_si512(a, _mm512_set1_epi32(mask)); }
    static Ints eitherInts(Ints a, Ints b) { return _mm512_or_si512(a, b); }
    static Ints loadInts(const void *p) { return _mm512_loadu_si512(p); }
    static Ints loadByteInts(const void *p)
    {
        return _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i *>(p)));
    }
    static Floats asFloats(Ints a) { return _mm512_castsi512_ps(a); }
    static Floats lowerHalves(Ints a) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(a)); }
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
    /// Wraps: a block that holds an infinity has codes without a meaning. The compiler's own reduction counts
    /// on there being no overflow.
    static int sum(Ints a)
    {
        const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
        __m128i four = _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
        four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
        four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
        return _mm_cvtsi128_si32(four);
    }
    static int largest(Ints a) { return _mm512_reduce_max_epi32(a); }
    static void storeBytes(std::int8_t *p, Ints a)
    {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm512_cvtepi32_epi8(a));
    }

    static void storeShuffled(std::int16_t *p, Ints a)
    {
        const __m256i words = _mm512_cvtepi32_epi16(a);
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(p),
                            _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(words, 0xD8), 0xD8));
    }

    static Bytes loadBytes(const void *p) { return _mm512_loadu_si512(p); }
    static Bytes lowNibbles(Bytes a) { return _mm512_and_si512(a, _mm512_set1_epi8(15)); }
    static Bytes highNibbles(Bytes a) { return lowNibbles(_mm512_srli_epi16(a, 4)); }
    template <int from, int count, int to>
    static Bytes bitField(Bytes a)
    {
        return _mm512_and_si512(moved<from, to>(a), _mm512_set1_epi8(((1 << count) - 1) << to));
    }
    template <int from, int count, int to>
    static Bytes withBitField(Bytes a, Bytes b)
    {
        const Bytes mask = _mm512_set1_epi8(((1 << count) - 1) << to);
        return _mm512_ternarylogic_epi32(a, moved<from, to>(b), mask, 0xF8); // a | (b & mask)
    }
    static Bytes lookUp(const std::uint8_t (&table)[16], Bytes a)
    {
        const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i *>(table));
        return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(entries), a);
    }
    template <int codeBits>
    static Ints dot(Ints sum, Bytes codes, const void *four)
    {
        return _mm512_dpbusd_epi32(sum, codes, allInts(four));
    }

    static Words evenBytes(Bytes a) { return _mm512_and_si512(a, _mm512_set1_epi16(0x00FF)); }
    static Words oddBytes(Bytes a) { return _mm512_srli_epi16(a, 8); }
    static Words twice(Ints a)
    {
        return _mm512_or_si512(_mm512_and_si512(a, _mm512_set1_epi32(0xFFFF)), _mm512_slli_epi32(a, 16));
    }
    static Words subtractWords(Words a, int value)
    {
        return _mm512_sub_epi16(a, _mm512_set1_epi16(std::int16_t(value)));
    }
    static Words multiplyWords(Words a, Words b) { return _mm512_mullo_epi16(a, b); }
    static Words loadWords(const void *p) { return _mm512_loadu_si512(p); }
    static void storeWords(void *p, Words a) { _mm512_storeu_si512(p, a); }
    static Words twoWords(const void *p) { return allInts(p); }
    static Ints dotWords(Ints sum, Words a, Words b) { return _mm512_dpwssd_epi32(sum, a, b); }

private:
    /// Bit `from` to bit `to`; what comes over from the next byte has to be masked.
    template <int from, int to>
    static Bytes moved(Bytes a)
    {
        if constexpr (from < to)
            return _mm512_slli_epi16(a, to - from);
        else if constexpr (from > to)
            return _mm512_srli_epi16(a, from - to);
        else
            return a;
    }
};

} // namespace tokenloupe::avx512
