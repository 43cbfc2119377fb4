// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/formats/blocks.h"
#include "tests/kernels/kernelcases.h"
#include "tests/support/testmain.h"

#include <cmath>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

/// Next to `value` in binary16, on the side away from 0.
double nextHalf(std::uint16_t half)
{
    return (half & 0x7FFF) == 0x7BFF ? std::copysign(65536.0, referenceHalf(half))
                                     : referenceHalf(std::uint16_t(half + 1));
}

} // namespace

class TestHalfFloat : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void everyHalfIsExact_data() { addIsaRows(); }
    void everyHalfIsExact();
    void everyHalfComesBack_data() { addIsaRows(); }
    void everyHalfComesBack();
    void roundsToNearestEven_data() { addIsaRows(); }
    void roundsToNearestEven();
    void notANumberAndInfinity_data() { addIsaRows(); }
    void notANumberAndInfinity();
    void oddLengths_data() { addIsaRows(); }
    void oddLengths();
    void bfloat();
};

void TestHalfFloat::everyHalfIsExact()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    FencedMemory<std::uint16_t> halves(65536);
    for (std::size_t i = 0; i < halves.size(); ++i)
        halves[i] = std::uint16_t(i);
    FencedMemory<float> floats(65536);
    kernels.fromHalf(halves.data(), 65536, floats.data());
    for (std::size_t i = 0; i < halves.size(); ++i) {
        const double expected = referenceHalf(halves[i]);
        if (std::isnan(expected)) {
            QVERIFY(std::isnan(floats[i]));
        } else {
            TOKENLOUPE_COMPARE_EXACT(double(floats[i]), expected);
            QCOMPARE(std::signbit(floats[i]), std::signbit(expected));
        }
        QCOMPARE(floatBits(halfToFloat(halves[i])), floatBits(floats[i])); // the plain function, NaN bits too
    }
}

void TestHalfFloat::everyHalfComesBack()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    FencedMemory<float> floats(65536);
    for (std::size_t i = 0; i < floats.size(); ++i)
        floats[i] = halfToFloat(std::uint16_t(i));
    FencedMemory<std::uint16_t> halves(65536);
    kernels.toHalf(floats.data(), 65536, halves.data());
    for (std::size_t i = 0; i < halves.size(); ++i) {
        const bool isNan = (i & 0x7FFF) > 0x7C00;
        QCOMPARE(std::size_t(halves[i]), isNan ? (i | 0x0200) : i); // a quiet NaN keeps its bits
        QCOMPARE(floatToHalf(floats[i]), halves[i]);
    }
}

void TestHalfFloat::roundsToNearestEven()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    // Half way between two neighbours, just below and just above, for every finite value.
    std::vector<float> inputs;
    std::vector<std::uint16_t> expected;
    for (unsigned half = 0; half < 65536; ++half) {
        if ((half & 0x7FFF) >= 0x7C00)
            continue;
        const float middle = float((referenceHalf(std::uint16_t(half)) + nextHalf(std::uint16_t(half))) / 2);
        const unsigned even = (half & 1) == 0 ? half : half + 1;
        inputs.insert(inputs.end(),
                      {middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 2 * middle)});
        expected.insert(expected.end(), {std::uint16_t(even), std::uint16_t(half), std::uint16_t(half + 1)});
    }
    FencedMemory<float> floats(inputs.size());
    std::copy(inputs.begin(), inputs.end(), floats.begin());
    FencedMemory<std::uint16_t> halves(inputs.size());
    kernels.toHalf(floats.data(), std::int64_t(inputs.size()), halves.data());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        QCOMPARE(halves[i], expected[i]);
        QCOMPARE(floatToHalf(inputs[i]), expected[i]);
    }
}

void TestHalfFloat::notANumberAndInfinity()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const float infinity = std::numeric_limits<float>::infinity();
    // 65520 is the first that rounds to infinity; NaN with bits only in the part that is cut off stays NaN.
    const std::vector<float> inputs = {infinity,
                                       -infinity,
                                       65519.996F,
                                       65520.0F,
                                       -1e30F,
                                       0x1p-25F,
                                       0x1.8p-25F,
                                       -0.0F,
                                       bitsToFloat(0x7FC00000U),
                                       bitsToFloat(0x7F800001U),
                                       bitsToFloat(0xFFC00000U),
                                       0x1p-149F};
    const std::vector<std::uint16_t> expected = {0x7C00, 0xFC00, 0x7BFF, 0x7C00, 0xFC00, 0,
                                                 1,      0x8000, 0x7E00, 0x7E00, 0xFE00, 0};
    std::vector<std::uint16_t> halves(inputs.size());
    kernels.toHalf(inputs.data(), std::int64_t(inputs.size()), halves.data());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        QCOMPARE(halves[i], expected[i]);
        QCOMPARE(floatToHalf(inputs[i]), expected[i]);
    }
}

void TestHalfFloat::oddLengths()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (std::size_t n = 0; n <= 50; ++n) {
        FencedMemory<float> floats(n);
        fillRandom(floats, 8.0F, unsigned(n));
        FencedMemory<std::uint16_t> halves(n);
        kernels.toHalf(floats.data(), std::int64_t(n), halves.data());
        FencedMemory<float> back(n);
        kernels.fromHalf(halves.data(), std::int64_t(n), back.data());
        QVERIFY(halves.isBandIntact());
        QVERIFY(back.isBandIntact());
        for (std::size_t i = 0; i < n; ++i) {
            QCOMPARE(halves[i], floatToHalf(floats[i]));
            TOKENLOUPE_COMPARE_EXACT(back[i], halfToFloat(halves[i]));
        }
    }
}

void TestHalfFloat::bfloat()
{
    for (unsigned i = 0; i < 65536; ++i) {
        const auto bits = std::uint16_t(i);
        const bool isNan = (i & 0x7FFF) > 0x7F80;
        QCOMPARE(floatBits(bfloatToFloat(bits)), i << 16);
        QCOMPARE(unsigned(floatToBfloat(bfloatToFloat(bits))), isNan ? (i | 0x40) : i);
        if ((i & 0x7FFF) >= 0x7F80)
            continue;
        QCOMPARE(unsigned(floatToBfloat(bitsToFloat(i << 16 | 0x7FFF))), i);
        QCOMPARE(unsigned(floatToBfloat(bitsToFloat(i << 16 | 0x8000))), i + (i & 1));
        QCOMPARE(unsigned(floatToBfloat(bitsToFloat(i << 16 | 0x8001))), i + 1);
    }
    QVERIFY(std::isnan(bfloatToFloat(floatToBfloat(bitsToFloat(0x7F800001U)))));
}

TOKENLOUPE_TEST_MAIN(TestHalfFloat)
#include "tst_halffloat.moc"
