// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <immintrin.h>

// Sixteen float32 lanes for the kernel templates, see vectorportable.h for what each function has to do.
// Included by kernelsavx512.cpp only; the namespace keeps what is compiled here apart from the other sets.

namespace tokenloupe::avx512 {

struct Codes; // codesavx512.h

struct Vector
{
    using Codes = avx512::Codes;
    using Reg = __m512;
    using Group = __m512;
    struct DoubleReg
    {
        __m512d low;
        __m512d high;
    };

    static constexpr int groups = 1;
    static constexpr int decodeRows = 4;
    static constexpr int tileRows = 8;
    static constexpr int tileTokens = 3;
    static constexpr int scoreLanes = 6;
    static constexpr int valueLanes = 6;
    static constexpr int valueRegisters = 4;
    static constexpr int tileKeys = 2;
    static constexpr int tileQueries = 4;

    static Reg zero() { return _mm512_setzero_ps(); }
    static Reg all(float value) { return _mm512_set1_ps(value); }
    static Reg load(const void *p) { return _mm512_loadu_ps(p); }
    static void store(float *p, Reg a) { _mm512_storeu_ps(p, a); }
    static Reg loadPart(const void *p, int n) { return _mm512_maskz_loadu_ps(first(n), p); }
    static void storePart(float *p, Reg a, int n) { _mm512_mask_storeu_ps(p, first(n), a); }

    static Group loadGroup(const float *p) { return _mm512_loadu_ps(p); }
    static void storeGroup(float *p, Group a) { _mm512_storeu_ps(p, a); }
    static Group multiplyAddGroup(Group a, Group b, Group c) { return _mm512_fmadd_ps(a, b, c); }
    static void keep(Group &a) { __asm__("" : "+v"(a)); }

    static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
    static Reg subtract(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
    static Reg multiply(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
    static Reg divide(Reg a, Reg b) { return _mm512_div_ps(a, b); }
    static Reg multiplyAdd(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
    static Reg larger(Reg a, Reg b) { return _mm512_max_ps(a, b); }
    static Reg smaller(Reg a, Reg b) { return _mm512_min_ps(a, b); }
    static Reg zeroWhereEqual(Reg a, Reg x, Reg y)
    {
        return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, y, _CMP_NEQ_UQ), a);
    }
    static Reg scaleByPower(Reg a, Reg biased, Reg bias)
    {
        return _mm512_scalef_ps(a, subtract(biased, bias));
    }

    static float sum(Reg a)
    {
        const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
        const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }
    static void sumFour(const Reg *a, float *out)
    {
        const __m512 ab = joinHalves(a[0], a[1]);
        const __m512 cd = joinHalves(a[2], a[3]);
        const __m512 four =
            _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xDD));
        const __m512 two = _mm512_add_ps(four, _mm512_permute_ps(four, 0x4E));
        const __m512 one = _mm512_add_ps(two, _mm512_permute_ps(two, 0xB1));
        const __m512i heads = _mm512_castsi128_si512(_mm_setr_epi32(0, 4, 8, 12));
        _mm_storeu_ps(out, _mm512_castps512_ps128(_mm512_permutexvar_ps(heads, one)));
    }
    static float largest(Reg a)
    {
        const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
        const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
    }

    static void transpose(Reg (&a)[16])
    {
        for (int i = 0; i < 16; i += 4)
            transposeQuarters(a[i], a[i + 1], a[i + 2], a[i + 3]);
        for (int i = 0; i < 4; ++i)
            gatherQuarters(a[i], a[i + 4], a[i + 8], a[i + 12]);
    }

    static DoubleReg zeroDouble() { return {_mm512_setzero_pd(), _mm512_setzero_pd()}; }
    static DoubleReg addDouble(DoubleReg sum, Reg a)
    {
        return {_mm512_add_pd(sum.low, lowDouble(a)), _mm512_add_pd(sum.high, highDouble(a))};
    }
    static DoubleReg addProductDouble(DoubleReg sum, Reg a, Reg b)
    {
        return {_mm512_fmadd_pd(lowDouble(a), lowDouble(b), sum.low),
                _mm512_fmadd_pd(highDouble(a), highDouble(b), sum.high)};
    }
    static double sumDouble(DoubleReg a)
    {
        const __m512d eight = _mm512_add_pd(a.low, a.high);
        const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
        const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
        return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
    }

    static Reg loadHalf(const void *p) { return _mm512_cvtph_ps(load256(p)); }
    static Reg loadHalfPart(const void *p, int n)
    {
        return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(n), p));
    }
    static void storeHalf(std::uint16_t *p, Reg a)
    {
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), toHalf(a));
    }
    static void storeHalfPart(std::uint16_t *p, Reg a, int n)
    {
        _mm256_mask_storeu_epi16(p, first(n), toHalf(a));
    }
    static Reg loadBfloat(const void *p) { return fromBfloat(load256(p)); }
    static Reg loadBfloatPart(const void *p, int n)
    {
        return fromBfloat(_mm256_maskz_loadu_epi16(first(n), p));
    }

    static void nibbles(const void *q, Reg d, Reg m, Reg &low, Reg &high)
    {
        // The sixteen possible weights of the block, picked by index: vpermps looks at the low four bits
        // only.
        const __m512 steps = _mm512_setr_ps(0.F, 1.F, 2.F, 3.F, 4.F, 5.F, 6.F, 7.F, 8.F, 9.F, 10.F, 11.F,
                                            12.F, 13.F, 14.F, 15.F);
        const __m512 table = _mm512_fmadd_ps(steps, d, m);
        const __m512i index = _mm512_cvtepu8_epi32(load128(q));
        low = _mm512_permutexvar_ps(index, table);
        high = _mm512_permutexvar_ps(_mm512_srli_epi32(index, 4), table);
    }
    static void fiveBits(const void *q, const void *fifth, Reg d, Reg m, Reg &low, Reg &high)
    {
        std::uint32_t bits = 0;
        std::memcpy(&bits, fifth, sizeof bits);
        const __m128i bytes = load128(q);
        const __m256i both =
            _mm256_inserti128_si256(_mm256_castsi128_si256(bytes), _mm_srli_epi16(bytes, 4), 1);
        const __m256i four = _mm256_and_si256(both, _mm256_set1_epi8(15));
        const __m256i five = _mm256_mask_add_epi8(four, bits, four, _mm256_set1_epi8(16));
        low = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm256_castsi256_si128(five))), d, m);
        high = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm256_extracti128_si256(five, 1))), d,
                               m);
    }
    static Reg signedBytes(const void *q, Reg d)
    {
        return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load128(q))), d);
    }

private:
    static __mmask16 first(int n) { return __mmask16((1U << n) - 1U); }
    static __m128i load128(const void *p) { return _mm_loadu_si128(static_cast<const __m128i *>(p)); }
    static __m256i load256(const void *p) { return _mm256_loadu_si256(static_cast<const __m256i *>(p)); }
    static __m256i toHalf(Reg a) { return _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
    static Reg fromBfloat(__m256i a)
    {
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(a), 16));
    }
    static __m512d lowDouble(Reg a) { return _mm512_cvtps_pd(_mm512_castps512_ps256(a)); }
    static __m512d highDouble(Reg a) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)); }
    /// The sums of lanes l and l + 8, of `a` in the low and of `b` in the high half.
    static __m512 joinHalves(__m512 a, __m512 b)
    {
        return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
    }
    /// Of four registers, each quarter for itself: a[i] gets value i of all four.
    static void transposeQuarters(Reg &a, Reg &b, Reg &c, Reg &d)
    {
        const __m512d ab = _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
        const __m512d cd = _mm512_castps_pd(_mm512_unpacklo_ps(c, d));
        const __m512d abHigh = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
        const __m512d cdHigh = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
        a = _mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd));
        b = _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd));
        c = _mm512_castpd_ps(_mm512_unpacklo_pd(abHigh, cdHigh));
        d = _mm512_castpd_ps(_mm512_unpackhi_pd(abHigh, cdHigh));
    }
    /// Of four registers: a gets the first quarters of all four, and so on.
    static void gatherQuarters(Reg &a, Reg &b, Reg &c, Reg &d)
    {
        const Reg abLow = _mm512_shuffle_f32x4(a, b, 0x44);
        const Reg abHigh = _mm512_shuffle_f32x4(a, b, 0xEE);
        const Reg cdLow = _mm512_shuffle_f32x4(c, d, 0x44);
        const Reg cdHigh = _mm512_shuffle_f32x4(c, d, 0xEE);
        a = _mm512_shuffle_f32x4(abLow, cdLow, 0x88);
        b = _mm512_shuffle_f32x4(abLow, cdLow, 0xDD);
        c = _mm512_shuffle_f32x4(abHigh, cdHigh, 0x88);
        d = _mm512_shuffle_f32x4(abHigh, cdHigh, 0xDD);
    }
};

} // namespace tokenloupe::avx512
