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

    static constexpr int tokens = 2;

    static Floats zero() { return all(0.0F); }
    static Floats all(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
    static Floats allFloats(const void *p) { return all(*static_cast<const float *>(p)); }
    static Floats load(const float *p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
    static Floats loadHalf(const void *p)
    {
        const auto *halves = static_cast<const __m128i *>(p);
        return {_mm256_cvtph_ps(_mm_loadu_si128(halves)), _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
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
        return both(Ints{_mm256_castps_si256(a.low), _mm256_castps_si256(a.high)}, 0x7FFFFFFF);
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

    static Bytes loadBytes(const void *p)
    {
        const auto *bytes = static_cast<const __m256i *>(p);
        return {_mm256_loadu_si256(bytes), _mm256_loadu_si256(bytes + 1)};
    }
    static Bytes lowNibbles(const Bytes &a) { return both(a, 0x0F0F0F0F); }
    static Bytes highNibbles(const Bytes &a)
    {
        return both(Bytes{_mm256_srli_epi16(a.low, 4), _mm256_srli_epi16(a.high, 4)}, 0x0F0F0F0F);
    }
    template <int j>
    static Bytes withFifthBit(const Bytes &a, const Bytes &fifth)
    {
        constexpr int left = j <= 4 ? 4 - j : 0;
        constexpr int right = j <= 4 ? 0 : j - 4;
        const Bytes there = both(Bytes{_mm256_srli_epi16(_mm256_slli_epi16(fifth.low, left), right),
                                       _mm256_srli_epi16(_mm256_slli_epi16(fifth.high, left), right)},
                                 0x10101010);
        return {_mm256_or_si256(a.low, there.low), _mm256_or_si256(a.high, there.high)};
    }
    template <int codeBits>
    static Ints dot(const Ints &sum, const Bytes &codes, const void *four)
    {
        int word = 0;
        std::memcpy(&word, four, sizeof word);
        const __m256i x = _mm256_set1_epi32(word);
        return {dotHalf<codeBits>(sum.low, codes.low, x), dotHalf<codeBits>(sum.high, codes.high, x)};
    }

private:
    static Ints both(const Ints &a, int mask)
    {
        const __m256i m = _mm256_set1_epi32(mask);
        return {_mm256_and_si256(a.low, m), _mm256_and_si256(a.high, m)};
    }
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
