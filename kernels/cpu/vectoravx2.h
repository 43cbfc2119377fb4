// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <immintrin.h>

// Sixteen float32 lanes in two registers, see vectorportable.h for what each function has to do.
// Included by kernelsavx2.cpp only; the namespace keeps what is compiled here apart from the other sets.

namespace tokenloupe::avx2 {

struct Codes; // codesavx2.h

struct Vector
{
    using Codes = avx2::Codes;
    struct Reg
    {
        __m256 low;
        __m256 high;
    };
    using Group = __m256;
    struct DoubleReg
    {
        __m256d part[4];
    };

    static constexpr int groups = 2;
    static constexpr int decodeRows = 4;
    static constexpr int tileRows = 3;
    static constexpr int tileTokens = 2;
    static constexpr int scoreLanes = 1;
    static constexpr int valueLanes = 2;
    static constexpr int valueRegisters = 2;
    static constexpr int tileKeys = 1;
    static constexpr int tileQueries = 2;

    static Reg zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
    static Reg all(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
    static Reg load(const void *p) { return {loadEight(p, 0), loadEight(p, 1)}; }
    static void store(float *p, Reg a)
    {
        _mm256_storeu_ps(p, a.low);
        _mm256_storeu_ps(p + 8, a.high);
    }
    static Reg loadPart(const void *p, int n)
    {
        float lanes[16] = {};
        std::memcpy(lanes, p, std::size_t(n) * sizeof(float));
        return load(lanes);
    }
    static void storePart(float *p, Reg a, int n)
    {
        float lanes[16];
        store(lanes, a);
        std::memcpy(p, lanes, std::size_t(n) * sizeof(float));
    }

    static Group loadGroup(const float *p) { return _mm256_loadu_ps(p); }
    static void storeGroup(float *p, Group a) { _mm256_storeu_ps(p, a); }
    static Group multiplyAddGroup(Group a, Group b, Group c) { return _mm256_fmadd_ps(a, b, c); }
    static void keep(Group &a) { __asm__("" : "+x"(a)); }
    static void keep(Reg &a)
    {
        keep(a.low);
        keep(a.high);
    }

    static Reg add(Reg a, Reg b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
    static Reg subtract(Reg a, Reg b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
    static Reg multiply(Reg a, Reg b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
    static Reg divide(Reg a, Reg b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
    static Reg multiplyAdd(Reg a, Reg b, Reg c)
    {
        return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
    }
    static Reg larger(Reg a, Reg b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
    static Reg smaller(Reg a, Reg b) { return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }
    static Reg zeroWhereEqual(Reg a, Reg x, Reg y)
    {
        return {_mm256_andnot_ps(_mm256_cmp_ps(x.low, y.low, _CMP_EQ_OQ), a.low),
                _mm256_andnot_ps(_mm256_cmp_ps(x.high, y.high, _CMP_EQ_OQ), a.high)};
    }
    static Reg scaleByPower(Reg a, Reg biased, Reg bias)
    {
        return {scaleEight(a.low, biased.low, bias.low), scaleEight(a.high, biased.high, bias.high)};
    }

    static float sum(Reg a)
    {
        const __m256 eight = _mm256_add_ps(a.low, a.high);
        const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }
    static void sumFour(const Reg *a, float *out)
    {
        const __m256 ab = joinHalves(_mm256_add_ps(a[0].low, a[0].high), _mm256_add_ps(a[1].low, a[1].high));
        const __m256 cd = joinHalves(_mm256_add_ps(a[2].low, a[2].high), _mm256_add_ps(a[3].low, a[3].high));
        const __m256 two = _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xEE));
        const __m256 acbd = _mm256_add_ps(two, _mm256_permute_ps(two, 0xB1));
        const __m128 ac = _mm_permute_ps(_mm256_castps256_ps128(acbd), 0x88);
        const __m128 bd = _mm_permute_ps(_mm256_extractf128_ps(acbd, 1), 0x88);
        _mm_storeu_ps(out, _mm_unpacklo_ps(ac, bd));
    }
    static float largest(Reg a)
    {
        const __m256 eight = _mm256_max_ps(a.low, a.high);
        const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
    }

    static void transpose(Reg (&a)[16])
    {
        __m256 topLeft[8];
        __m256 topRight[8];
        __m256 bottomLeft[8];
        __m256 bottomRight[8];
        for (int i = 0; i < 8; ++i) {
            topLeft[i] = a[i].low;
            topRight[i] = a[i].high;
            bottomLeft[i] = a[i + 8].low;
            bottomRight[i] = a[i + 8].high;
        }
        transposeEight(topLeft);
        transposeEight(topRight);
        transposeEight(bottomLeft);
        transposeEight(bottomRight);
        for (int i = 0; i < 8; ++i) {
            a[i] = {topLeft[i], bottomLeft[i]};
            a[i + 8] = {topRight[i], bottomRight[i]};
        }
    }

    static DoubleReg zeroDouble()
    {
        return {{_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()}};
    }
    static DoubleReg addDouble(DoubleReg sum, Reg a)
    {
        const DoubleReg b = toDouble(a);
        for (int i = 0; i < 4; ++i)
            sum.part[i] = _mm256_add_pd(sum.part[i], b.part[i]);
        return sum;
    }
    static DoubleReg addProductDouble(DoubleReg sum, Reg a, Reg b)
    {
        const DoubleReg x = toDouble(a);
        const DoubleReg y = toDouble(b);
        for (int i = 0; i < 4; ++i)
            sum.part[i] = _mm256_fmadd_pd(x.part[i], y.part[i], sum.part[i]);
        return sum;
    }
    static double sumDouble(DoubleReg a)
    {
        const __m256d four =
            _mm256_add_pd(_mm256_add_pd(a.part[0], a.part[2]), _mm256_add_pd(a.part[1], a.part[3]));
        const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
        return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
    }

    static Reg loadHalf(const void *p)
    {
        return {_mm256_cvtph_ps(load128(p, 0)), _mm256_cvtph_ps(load128(p, 1))};
    }
    static Reg loadHalfPart(const void *p, int n)
    {
        std::uint16_t lanes[16] = {};
        std::memcpy(lanes, p, std::size_t(n) * sizeof(std::uint16_t));
        return loadHalf(lanes);
    }
    static void storeHalf(std::uint16_t *p, Reg a)
    {
        constexpr int nearestEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm256_cvtps_ph(a.low, nearestEven));
        _mm_storeu_si128(reinterpret_cast<__m128i *>(p + 8), _mm256_cvtps_ph(a.high, nearestEven));
    }
    static void storeHalfPart(std::uint16_t *p, Reg a, int n)
    {
        std::uint16_t lanes[16];
        storeHalf(lanes, a);
        std::memcpy(p, lanes, std::size_t(n) * sizeof(std::uint16_t));
    }
    static Reg loadBfloat(const void *p) { return {fromBfloat(load128(p, 0)), fromBfloat(load128(p, 1))}; }
    static Reg loadBfloatPart(const void *p, int n)
    {
        std::uint16_t lanes[16] = {};
        std::memcpy(lanes, p, std::size_t(n) * sizeof(std::uint16_t));
        return loadBfloat(lanes);
    }

    static void nibbles(const void *q, Reg d, Reg m, Reg &low, Reg &high)
    {
        const __m128i bytes = load128(q, 0);
        const __m128i mask = _mm_set1_epi8(15);
        low = multiplyAdd(unsignedBytes(_mm_and_si128(bytes, mask)), d, m);
        high = multiplyAdd(unsignedBytes(_mm_and_si128(_mm_srli_epi16(bytes, 4), mask)), d, m);
    }
    static void fiveBits(const void *q, const void *fifth, Reg d, Reg m, Reg &low, Reg &high)
    {
        std::int32_t bits = 0;
        std::memcpy(&bits, fifth, sizeof bits);
        const __m128i bytes = load128(q, 0);
        const __m256i both = _mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes);
        // Byte i of the four fifth-bit bytes goes to the eight lanes it serves; there one bit of it is looked
        // at.
        const __m256i spread = _mm256_shuffle_epi8(
            _mm256_set1_epi32(bits), _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                                                      2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3));
        const __m256i bit = _mm256_set1_epi64x(std::int64_t(0x8040201008040201ULL));
        const __m256i isSet = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
        const __m256i five = _mm256_or_si256(_mm256_and_si256(both, _mm256_set1_epi8(15)),
                                             _mm256_and_si256(isSet, _mm256_set1_epi8(16)));
        low = multiplyAdd(unsignedBytes(_mm256_castsi256_si128(five)), d, m);
        high = multiplyAdd(unsignedBytes(_mm256_extracti128_si256(five, 1)), d, m);
    }
    static Reg signedBytes(const void *q, Reg d)
    {
        const __m128i bytes = load128(q, 0);
        return multiply({_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
                         _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(bytes, bytes)))},
                        d);
    }

private:
    static __m256 loadEight(const void *p, int half)
    {
        return _mm256_loadu_ps(static_cast<const float *>(p) + 8 * half);
    }
    static __m128i load128(const void *p, int index)
    {
        return _mm_loadu_si128(static_cast<const __m128i *>(p) + index);
    }
    static __m256 fromBfloat(__m128i a)
    {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(a), 16));
    }
    static Reg unsignedBytes(__m128i bytes)
    {
        return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)),
                _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(bytes, bytes)))};
    }
    static DoubleReg toDouble(Reg a)
    {
        return {{_mm256_cvtps_pd(_mm256_castps256_ps128(a.low)),
                 _mm256_cvtps_pd(_mm256_extractf128_ps(a.low, 1)),
                 _mm256_cvtps_pd(_mm256_castps256_ps128(a.high)),
                 _mm256_cvtps_pd(_mm256_extractf128_ps(a.high, 1))}};
    }
    /// The sums of lanes l and l + 4, of `a` in the low and of `b` in the high half.
    static __m256 joinHalves(__m256 a, __m256 b)
    {
        return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
    }
    static void transposeEight(__m256 (&a)[8])
    {
        for (int i = 0; i < 8; i += 4) {
            const __m256d low = _mm256_castps_pd(_mm256_unpacklo_ps(a[i], a[i + 1]));
            const __m256d high = _mm256_castps_pd(_mm256_unpackhi_ps(a[i], a[i + 1]));
            const __m256d nextLow = _mm256_castps_pd(_mm256_unpacklo_ps(a[i + 2], a[i + 3]));
            const __m256d nextHigh = _mm256_castps_pd(_mm256_unpackhi_ps(a[i + 2], a[i + 3]));
            a[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(low, nextLow));
            a[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(low, nextLow));
            a[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(high, nextHigh));
            a[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(high, nextHigh));
        }
        for (int i = 0; i < 4; ++i) {
            const __m256 first = a[i];
            a[i] = _mm256_permute2f128_ps(first, a[i + 4], 0x20);
            a[i + 4] = _mm256_permute2f128_ps(first, a[i + 4], 0x31);
        }
    }
    /// In two steps: the first product is exact, the second rounds once, also where the result is subnormal.
    static __m256 scaleEight(__m256 a, __m256 biased, __m256 bias)
    {
        const __m256i power = _mm256_sub_epi32(_mm256_castps_si256(biased), _mm256_castps_si256(bias));
        const __m256i half = _mm256_srai_epi32(power, 1);
        return _mm256_mul_ps(_mm256_mul_ps(a, powerOfTwo(half)), powerOfTwo(_mm256_sub_epi32(power, half)));
    }
    static __m256 powerOfTwo(__m256i power)
    {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(power, _mm256_set1_epi32(127)), 23));
    }
};

} // namespace tokenloupe::avx2
