// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"

#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <random>
#include <vector>

namespace {

/// A binary type of 16 bits as its definition says: sign, exponent, fraction.
struct Definition
{
    int exponentBits;
    int fractionBits;

    double valueOf(unsigned int bits) const
    {
        const int bias = (1 << (exponentBits - 1)) - 1;
        const int exponent = static_cast<int>(bits >> fractionBits) & ((1 << exponentBits) - 1);
        const double fraction = bits & ((1U << fractionBits) - 1);
        const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
        if (exponent == (1 << exponentBits) - 1)
            return fraction != 0.0 ? NAN : sign * INFINITY;
        if (exponent == 0)
            return sign * std::ldexp(fraction, 1 - bias - fractionBits);
        return sign * std::ldexp(fraction + (1 << fractionBits), exponent - bias - fractionBits);
    }

    /// The bits of the nearest number; of two the even one.
    unsigned int nearest(double value) const
    {
        const unsigned int sign = std::signbit(value) ? 0x8000U : 0;
        const double magnitude = std::fabs(value);
        const unsigned int infinity = ((1U << exponentBits) - 1) << fractionBits;
        unsigned int below = 0;
        unsigned int above = infinity;
        while (above - below > 1) {
            const unsigned int middle = (below + above) / 2;
            (valueOf(middle) <= magnitude ? below : above) = middle;
        }
        // What is as far from the largest number as the next one would be is rounded to infinity.
        const double next = above == infinity ? 2.0 * valueOf(below) - valueOf(below - 1) : valueOf(above);
        const double middle = (valueOf(below) + next) / 2.0;
        const bool isUp = magnitude > middle || (magnitude == middle && below % 2 == 1);
        return sign | (isUp ? above : below);
    }
};

constexpr Definition halfDefinition{5, 10};
constexpr Definition bfloatDefinition{8, 7};

bool isSame(double a, double b)
{
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// Numbers of all sizes, and those that lie between two halves.
std::vector<double> samples(const Definition &definition)
{
    std::vector<double> numbers{0.0,   -0.0, 1.0,      65504.0,   65519.0, 65520.0, 1e6,
                                -1e30, 1e-9, INFINITY, -INFINITY, 6e-8,    3e-8,    2.98e-8};
    std::mt19937 random(7);
    for (int i = 0; i < 3000; ++i) {
        const unsigned int bits = random() & 0x7FFF;
        const double value = definition.valueOf(bits);
        const double next = definition.valueOf(bits + 1);
        if (!std::isfinite(value) || !std::isfinite(next))
            continue;
        numbers.push_back((value + next) / 2.0);
        numbers.push_back(-std::nextafter((value + next) / 2.0, value));
        numbers.push_back(std::nextafter((value + next) / 2.0, next));
        numbers.push_back(value + (next - value) * static_cast<double>(random() % 1000) / 1000.0);
    }
    return numbers;
}

} // namespace

/// __half and __nv_bfloat16 against their definitions.
class TstHalfTypes : public QObject
{
    Q_OBJECT

private slots:
    void readsAllHalves();
    void readsAllBfloats();
    void roundsToHalf();
    void roundsToBfloat();
    void calculates();
    void fusesMultiplyAndAdd();
    void compares();
    void pairs();
};

void TstHalfTypes::readsAllHalves()
{
    for (unsigned int bits = 0; bits < 0x10000; ++bits) {
        const __half number = __ushort_as_half(static_cast<unsigned short>(bits));
        QVERIFY(isSame(static_cast<double>(__half2float(number)), halfDefinition.valueOf(bits)));
        QCOMPARE(unsigned{__half_as_ushort(number)}, bits);
    }
}

void TstHalfTypes::readsAllBfloats()
{
    for (unsigned int bits = 0; bits < 0x10000; ++bits) {
        const __nv_bfloat16 number = __ushort_as_bfloat16(static_cast<unsigned short>(bits));
        QVERIFY(isSame(static_cast<double>(__bfloat162float(number)), bfloatDefinition.valueOf(bits)));
    }
}

void TstHalfTypes::roundsToHalf()
{
    for (const double number : samples(halfDefinition)) {
        const auto single = static_cast<float>(number);
        QCOMPARE(unsigned{__half_as_ushort(__float2half_rn(single))},
                 halfDefinition.nearest(static_cast<double>(single)));
        QCOMPARE(unsigned{__half_as_ushort(__double2half(number))}, halfDefinition.nearest(number));
    }
    QVERIFY(__hisnan(__float2half(NAN)));
}

void TstHalfTypes::roundsToBfloat()
{
    for (const double number : samples(bfloatDefinition)) {
        const auto single = static_cast<float>(number);
        QCOMPARE(unsigned{__bfloat16_as_ushort(__float2bfloat16(single))},
                 bfloatDefinition.nearest(static_cast<double>(single)));
        QCOMPARE(unsigned{__bfloat16_as_ushort(__double2bfloat16(number))}, bfloatDefinition.nearest(number));
    }
    QVERIFY(__hisnan(__float2bfloat16(NAN)));
}

void TstHalfTypes::calculates()
{
    std::mt19937 random(3);
    for (int i = 0; i < 20000; ++i) {
        const __half a = __ushort_as_half(static_cast<unsigned short>(random()));
        const __half b = __ushort_as_half(static_cast<unsigned short>(random()));
        const auto x = static_cast<double>(__half2float(a));
        const auto y = static_cast<double>(__half2float(b));
        if (!std::isfinite(x) || !std::isfinite(y) || y == 0.0)
            continue;
        QCOMPARE(unsigned{__half_as_ushort(a + b)}, halfDefinition.nearest(x + y));
        QCOMPARE(unsigned{__half_as_ushort(__hsub(a, b))}, halfDefinition.nearest(x - y));
        QCOMPARE(unsigned{__half_as_ushort(a * b)}, halfDefinition.nearest(x * y));
        QCOMPARE(unsigned{__half_as_ushort(a / b)}, halfDefinition.nearest(x / y));
        QCOMPARE(unsigned{__half_as_ushort(-a)}, halfDefinition.nearest(-x));
        QCOMPARE(unsigned{__half_as_ushort(__habs(a))}, halfDefinition.nearest(std::fabs(x)));
    }
}

void TstHalfTypes::fusesMultiplyAndAdd()
{
    // 1 + 2^-10 squared is 1 + 2^-9 + 2^-20: only a fused one sees the last part when the rest is taken away.
    const __half near = __float2half(1.0F + 0x1p-10F);
    const __half rest = __float2half(-(1.0F + 0x1p-9F));
    QCOMPARE(__half2float(__hfma(near, near, rest)), 0x1p-20F);
    QCOMPARE(__half2float(near * near + rest), 0.0F);
    const __half2 both = __hfma2(__half2half2(near), __half2half2(near), __half2half2(rest));
    QCOMPARE(__low2float(both), 0x1p-20F);
    QCOMPARE(__high2float(both), 0x1p-20F);
    // The product lies half way between two numbers; the smallest of addends says to which side.
    const __nv_bfloat16 factor = 1.0F + 0x1p-7F;
    const __nv_bfloat16 other = 1.5F;
    QCOMPARE(__bfloat162float(__hfma(factor, other, __float2bfloat16(0x1p-100F))), 1.5F + 0x1p-6F);
    QCOMPARE(__bfloat162float(__hfma(factor, other, __float2bfloat16(-0x1p-100F))), 1.5F + 0x1p-7F);
    QVERIFY(__hisnan(__hfma(factor, other, __float2bfloat16(NAN))));
    QVERIFY(__hisinf(__hfma(factor, other, __float2bfloat16(INFINITY))));
}

void TstHalfTypes::compares()
{
    const __half one = 1.0F;
    const __half two = 2;
    QVERIFY(one < two && two > one && one <= one && one != two && !(one == two));
    QVERIFY(__hlt(one, two) && __hge(two, two) && !__heq(one, two));
    QCOMPARE(__half2float(__hmax(one, two)), 2.0F);
    QCOMPARE(__half2float(__hmin(one, __float2half(NAN))), 1.0F);
    QVERIFY(!(__float2half(NAN) == __float2half(NAN)));
    QCOMPARE(__half2int_rn(__float2half(2.5F)), 2);
    QCOMPARE(__half2int_rz(__float2half(-2.5F)), -2);
}

void TstHalfTypes::pairs()
{
    const __half2 pair = __floats2half2_rn(1.5F, -2.25F);
    QCOMPARE(sizeof(pair), std::size_t{4});
    QCOMPARE(__half22float2(pair).x, 1.5F);
    QCOMPARE(__high2float(pair), -2.25F);
    QCOMPARE(__low2float(__lowhigh2highlow(pair)), -2.25F);
    QCOMPARE(__high2float(pair + __float2half2_rn(1.0F)), -1.25F);
    QCOMPARE(__low2float(__hmul2(pair, pair)), 2.25F);
    const __nv_bfloat162 other = __floats2bfloat162_rn(3.0F, 4.0F);
    QCOMPARE(__bfloat1622float2(other).y, 4.0F);
    QCOMPARE(__low2float(other * other), 9.0F);
}

TOKENLOUPE_TEST_MAIN(TstHalfTypes)
#include "tst_halftypes.moc"
