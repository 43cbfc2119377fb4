// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <immintrin.h>

// Two registers of eight lanes for the fast kernel templates, see fastvectorportable.h for what each function
// has to do. Included by fastavx2.cpp only.

namespace tokenloupe::avx2 {

struct FastVector
{
    struct Floats
    {
        __m256 low;
        __m256 high;
    };
    struct Ints
    {
        __m256i low;
        __m256i high;
    };
    using Bytes = Ints;

    using Words = Ints;

    static constexpr int wordTokens = 2;
    static constexpr int tileStripes = 1;
    static constexpr int tileTokens = 4;

    static Floats zero() { return all(0.0F); }
    static Floats all(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
    static Floats allFloats(const void *p) { return all(*static_cast<const float *>(p)); }
    static Floats load(const float *p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
    static Floats loadHalf(const void *p)
    {
        const auto *halves = static_cast<const __m128i *>(p);
        return {_mm256_cvtph_ps(_mm_loadu_si128(halves)), _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
    }
    static Floats loadFloats(const void *p) { return load(static_cast<const float *>(p)); }
    static void storeFloats(void *p, const Floats &a)
    {
        _mm256_storeu_ps(static_cast<float *>(p), a.low);
        _mm256_storeu_ps(static_cast<float *>(p) + 8, a.high);
    }
    static void storePart(float *p, const Floats &a, int n)
    {
        if (n == 16) {
            _mm256_storeu_ps(p, a.low);
            _mm256_storeu_ps(p + 8, a.high);
            return;
        }
        float lanes[16];
        _mm256_storeu_ps(lanes, a.low);
        _mm256_storeu_ps(lanes + 8, a.high);
        std::memcpy(p, lanes, std::size_t(n) * sizeof(float));
    }
    static Floats multiply(const Floats &a, const Floats &b)
    {
        return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
    }
    static Floats multiplyAdd(const Floats &a, const Floats &b, const Floats &c)
    {
        return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
    }

    static Ints zeroInts() { return allOf(0); }
    static Ints allOf(int value) { return {_mm256_set1_epi32(value), _mm256_set1_epi32(value)}; }
    static Ints allInts(const void *p) { return allOf(*static_cast<const int *>(p)); }
    static Ints addInts(const Ints &a, const Ints &b)
    {
        return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
    }
    static Ints subtractInts(const Ints &a, const Ints &b)
    {
        return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
    }
    static Ints largerInts(const Ints &a, const Ints &b)
    {
        return {_mm256_max_epi32(a.low, b.low), _mm256_max_epi32(a.high, b.high)};
    }
    static Ints multiplyInts(const Ints &a, const Ints &b)
    {
        return {_mm256_mullo_epi32(a.low, b.low), _mm256_mullo_epi32(a.high, b.high)};
    }
    static Ints bothInts(const Ints &a, int mask)
    {
        const __m256i m = _mm256_set1_epi32(mask);
        return {_mm256_and_si256(a.low, m), _mm256_and_si256(a.high, m)};
    }
    static Ints eitherInts(const Ints &a, const Ints &b)
    {
        return {_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)};
    }
    static Ints loadInts(const void *p) { return loadBytes(p); }
    static Ints loadByteInts(const void *p)
    {
        const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i *>(p));
        return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
    }
    static Floats asFloats(const Ints &a)
    {
        return {_mm256_castsi256_ps(a.low), _mm256_castsi256_ps(a.high)};
    }
    static Floats lowerHalves(const Ints &a)
    {
        // The packing works within each half of a register: the quarters come out as 0 2 1 3.
        const Ints halves = bothInts(a, 0xFFFF);
        const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(halves.low, halves.high), 0xD8);
        return {_mm256_cvtph_ps(_mm256_castsi256_si128(packed)),
                _mm256_cvtph_ps(_mm256_extracti128_si256(packed, 1))};
    }
    template <int bits>
    static Ints shiftLeft(const Ints &a)
    {
        return {_mm256_slli_epi32(a.low, bits), _mm256_slli_epi32(a.high, bits)};
    }
    template <int bits>
    static Ints shiftRight(const Ints &a)
    {
        return {_mm256_srai_epi32(a.low, bits), _mm256_srai_epi32(a.high, bits)};
    }
    static Floats toFloat(const Ints &a) { return {_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)}; }
    static Ints round(const Floats &a) { return {_mm256_cvtps_epi32(a.low), _mm256_cvtps_epi32(a.high)}; }
    static Ints magnitudeBits(const Floats &a)
    {
        return bothInts(Ints{_mm256_castps_si256(a.low), _mm256_castps_si256(a.high)}, 0x7FFFFFFF);
    }
    static int sum(const Ints &a)
    {
        const __m256i eight = _mm256_add_epi32(a.low, a.high);
        const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
        const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
        return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xB1)));
    }
    static int largest(const Ints &a)
    {
        const __m256i eight = _mm256_max_epi32(a.low, a.high);
        const __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
        const __m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4E));
        return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 0xB1)));
    }
    static void storeBytes(std::int8_t *p, const Ints &a)
    {
        // The packing works within each half of a register: the quarters come out as 0 2 1 3.
        const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.low, a.high), 0xD8);
        _mm_storeu_si128(reinterpret_cast<__m128i *>(p),
                         _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
    }
    static void storeShuffled(std::int16_t *p, const Ints &a)
    {
        const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.low, a.high), 0xD8);
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(p),
                            _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(words, 0xD8), 0xD8));
    }

    static Bytes loadBytes(const void *p)
    {
        const auto *bytes = static_cast<const __m256i *>(p);
        return {_mm256_loadu_si256(bytes), _mm256_loadu_si256(bytes + 1)};
    }
    static Bytes lowNibbles(const Bytes &a) { return bothInts(a, 0x0F0F0F0F); }
    static Bytes highNibbles(const Bytes &a)
    {
        return bothInts(Bytes{_mm256_srli_epi16(a.low, 4), _mm256_srli_epi16(a.high, 4)}, 0x0F0F0F0F);
    }
    template <int from, int count, int to>
    static Bytes bitField(const Bytes &a)
    {
        constexpr int left = from < to ? to - from : 0;
        constexpr int right = from > to ? from - to : 0;
        return bothInts(Bytes{_mm256_srli_epi16(_mm256_slli_epi16(a.low, left), right),
                              _mm256_srli_epi16(_mm256_slli_epi16(a.high, left), right)},
                        (((1 << count) - 1) << to) * 0x01010101);
    }
    template <int from, int count, int to>
    static Bytes withBitField(const Bytes &a, const Bytes &b)
    {
        return eitherInts(a, bitField<from, count, to>(b));
    }
    static Bytes lookUp(const std::uint8_t (&table)[16], const Bytes &a)
    {
        const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i *>(table));
        const __m256i both = _mm256_broadcastsi128_si256(entries);
        return {_mm256_shuffle_epi8(both, a.low), _mm256_shuffle_epi8(both, a.high)};
    }
    template <int codeBits>
    static Ints dot(const Ints &sum, const Bytes &codes, const void *four)
    {
        int word = 0;
        std::memcpy(&word, four, sizeof word);
        const __m256i x = _mm256_set1_epi32(word);
        return {dotHalf<codeBits>(sum.low, codes.low, x), dotHalf<codeBits>(sum.high, codes.high, x)};
    }

    static Words evenBytes(const Bytes &a) { return bothInts(a, 0x00FF00FF); }
    static Words oddBytes(const Bytes &a)
    {
        return {_mm256_srli_epi16(a.low, 8), _mm256_srli_epi16(a.high, 8)};
    }
    static Words twice(const Ints &a) { return eitherInts(bothInts(a, 0xFFFF), shiftLeft<16>(a)); }
    static Words subtractWords(const Words &a, int value)
    {
        const __m256i all = _mm256_set1_epi16(std::int16_t(value));
        return {_mm256_sub_epi16(a.low, all), _mm256_sub_epi16(a.high, all)};
    }
    static Words multiplyWords(const Words &a, const Words &b)
    {
        return {_mm256_mullo_epi16(a.low, b.low), _mm256_mullo_epi16(a.high, b.high)};
    }
    static Words loadWords(const void *p) { return loadBytes(p); }
    static void storeWords(void *p, const Words &a)
    {
        auto *registers = static_cast<__m256i *>(p);
        _mm256_storeu_si256(registers, a.low);
        _mm256_storeu_si256(registers + 1, a.high);
    }
    static Words twoWords(const void *p) { return allInts(p); }
    static Ints dotWords(const Ints &sum, const Words &a, const Words &b)
    {
        return {_mm256_add_epi32(sum.low, _mm256_madd_epi16(a.low, b.low)),
                _mm256_add_epi32(sum.high, _mm256_madd_epi16(a.high, b.high))};
    }

private:
    /// The 16-bit sums of two products saturate; codes below 128 stay inside (2 · 127 · 127), the eighth bit
    /// is taken by itself (2 · 128 · 127).
    template <int codeBits>
    static __m256i dotHalf(__m256i sum, __m256i codes, __m256i x)
    {
        const __m256i ones = _mm256_set1_epi16(1);
        if constexpr (codeBits < 8) {
            return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(codes, x), ones));
        } else {
            const __m256i top = _mm256_set1_epi8(char(0x80));
            const __m256i low = _mm256_maddubs_epi16(_mm256_andnot_si256(top, codes), x);
            const __m256i high = _mm256_maddubs_epi16(_mm256_and_si256(top, codes), x);
            return _mm256_add_epi32(
                sum, _mm256_add_epi32(_mm256_madd_epi16(low, ones), _mm256_madd_epi16(high, ones)));
        }
    }
};

} // namespace tokenloupe::avx2
