// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/kernels/kernelcases.h"
#include "tests/support/testmain.h"

#include <cmath>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

float bitsAsFloat(std::uint32_t bits)
{
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/// Distance of `got` from `expected` in units of the last float32 place there.
double ulps(float got, double expected)
{
    const int exponent = std::max(std::ilogb(expected), -126);
    return std::abs(double(got) - expected) / std::ldexp(1.0, exponent - 23);
}

} // namespace

/// expSum, maximum, softmaxMoments.
class TestSoftmaxKernels : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void exponentialIsAccurate_data() { addIsaRows(); }
    void exponentialIsAccurate();
    void exponentialOfExtremes_data() { addIsaRows(); }
    void exponentialOfExtremes();
    void exponentialDoesNotKnowItsPlace_data() { addIsaRows(); }
    void exponentialDoesNotKnowItsPlace();
    void sums_data() { addIsaRows(); }
    void sums();
    void longSumsKeepTheirDigits_data() { addIsaRows(); }
    void longSumsKeepTheirDigits();
    void maximum_data() { addIsaRows(); }
    void maximum();
    void moments_data() { addIsaRows(); }
    void moments();
    void momentsSkipWhatWasRemoved_data() { addIsaRows(); }
    void momentsSkipWhatWasRemoved();
    void avx2EqualsAvx512();
};

void TestSoftmaxKernels::exponentialIsAccurate()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    // Floats of both signs from 2^-30 to past both ends, in steps of a prime number of bit patterns.
    std::vector<float> inputs;
    for (std::uint32_t bits = 0x30800000U; bits < 0x42D40000U; bits += 4801U) {
        inputs.push_back(bitsAsFloat(bits));
        inputs.push_back(-bitsAsFloat(bits));
    }
    std::vector<float> results = inputs;
    kernels.expSum(results.data(), 0.0F, std::int64_t(results.size()));
    double worst = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const double expected = std::exp(double(inputs[i]));
        if (expected > double(std::numeric_limits<float>::max()))
            TOKENLOUPE_COMPARE_EXACT(results[i], infinity);
        else
            worst = std::max(worst, ulps(results[i], expected));
    }
    QVERIFY2(worst <= 1.0, qPrintable(QStringLiteral("%1 units of the last place").arg(worst)));
}

void TestSoftmaxKernels::exponentialOfExtremes()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    std::vector<float> x = {-infinity, 0.0F, -0.0F, -104.5F, -1e30F, infinity, 89.0F, notANumber, -103.0F};
    kernels.expSum(x.data(), 0.0F, std::int64_t(x.size()));
    TOKENLOUPE_COMPARE_EXACT(x[0], 0.0F);
    QVERIFY(!std::signbit(x[0]));
    TOKENLOUPE_COMPARE_EXACT(x[1], 1.0F);
    TOKENLOUPE_COMPARE_EXACT(x[2], 1.0F);
    TOKENLOUPE_COMPARE_EXACT(x[3], 0.0F);
    TOKENLOUPE_COMPARE_EXACT(x[4], 0.0F);
    TOKENLOUPE_COMPARE_EXACT(x[5], infinity);
    TOKENLOUPE_COMPARE_EXACT(x[6], infinity);
    QVERIFY(std::isnan(x[7]));
    QVERIFY(ulps(x[8], std::exp(-103.0)) <= 1.0); // subnormal

    // All removed: a maximum of -inf must not turn 0 into NaN.
    std::vector<float> removed(21, -infinity);
    TOKENLOUPE_COMPARE_EXACT(kernels.expSum(removed.data(), -infinity, 21), 0.0F);
    QVERIFY(removed == std::vector<float>(21, 0.0F));
}

void TestSoftmaxKernels::exponentialDoesNotKnowItsPlace()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    float alone = 0.37F;
    const float sum = kernels.expSum(&alone, 2.5F, 1);
    TOKENLOUPE_COMPARE_EXACT(sum, alone);
    for (std::size_t n = 1; n <= 50; ++n) {
        FencedMemory<float> x(n);
        std::fill(x.begin(), x.end(), 0.37F);
        kernels.expSum(x.data(), 2.5F, std::int64_t(n));
        QVERIFY(x.isBandIntact());
        for (const float value : x)
            TOKENLOUPE_COMPARE_EXACT(value, alone);
    }
}

void TestSoftmaxKernels::sums()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const std::size_t n : {0, 1, 15, 16, 17, 100, 1023}) {
        FencedMemory<float> x(n);
        fillRandom(x, 10.0F, unsigned(n));
        double expected = 0;
        for (const float v : x)
            expected += std::exp(double(v) - 10.0);
        const float sum = kernels.expSum(x.data(), 10.0F, std::int64_t(n));
        QVERIFY(std::abs(double(sum) - expected) <= 1e-6 * expected);
        double stored = 0;
        for (const float v : x)
            stored += double(v);
        QVERIFY(std::abs(double(sum) - stored) <= 6e-8 * stored);
    }
}

void TestSoftmaxKernels::longSumsKeepTheirDigits()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    constexpr int n = 1 << 20;
    std::vector<float> x(n, -0.3F);
    const float sum = kernels.expSum(x.data(), 0.0F, n);
    TOKENLOUPE_COMPARE_EXACT(sum, std::ldexp(x[0], 20)); // exactly: sums of a million equal values in double
}

void TestSoftmaxKernels::maximum()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (std::size_t n = 1; n <= 70; ++n) {
        FencedMemory<float> x(n);
        for (std::size_t at = 0; at < n; ++at) {
            fillRandom(x, 3.0F, unsigned(n));
            x[at] = 4.0F;
            TOKENLOUPE_COMPARE_EXACT(kernels.maximum(x.data(), std::int64_t(n)), 4.0F);
            std::fill(x.begin(), x.end(), notANumber);
            TOKENLOUPE_COMPARE_EXACT(kernels.maximum(x.data(), std::int64_t(n)), -infinity);
            x[at] = -1e30F;
            TOKENLOUPE_COMPARE_EXACT(kernels.maximum(x.data(), std::int64_t(n)), -1e30F);
            x[at] = infinity;
            TOKENLOUPE_COMPARE_EXACT(kernels.maximum(x.data(), std::int64_t(n)), infinity);
            std::fill(x.begin(), x.end(), -infinity);
            TOKENLOUPE_COMPARE_EXACT(kernels.maximum(x.data(), std::int64_t(n)), -infinity);
            std::fill(x.begin(), x.end(), -2.0F);
            x[at] = notANumber;
            TOKENLOUPE_COMPARE_EXACT(kernels.maximum(x.data(), std::int64_t(n)), n == 1 ? -infinity : -2.0F);
        }
    }
}

void TestSoftmaxKernels::moments()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const std::size_t n : {1, 15, 16, 17, 333, 49152}) {
        FencedMemory<float> x(n);
        fillRandom(x, 12.0F, unsigned(n));
        const float max = kernels.maximum(x.data(), std::int64_t(n));
        double expectedSum = 0;
        double expectedProduct = 0;
        for (const float v : x) {
            const double shifted = double(v) - double(max);
            expectedSum += std::exp(shifted);
            expectedProduct += shifted * std::exp(shifted);
        }
        double sum = -1;
        double product = -1;
        kernels.softmaxMoments(x.data(), std::int64_t(n), max, &sum, &product);
        QVERIFY(std::abs(sum - expectedSum) <= 2e-7 * expectedSum);
        QVERIFY(std::abs(product - expectedProduct) <= 3e-7 * std::abs(expectedProduct) + 1e-12);
    }
}

void TestSoftmaxKernels::momentsSkipWhatWasRemoved()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    std::vector<float> x(37, -infinity);
    double sum = -1;
    double product = -1;
    kernels.softmaxMoments(x.data(), 37, -infinity, &sum, &product);
    TOKENLOUPE_COMPARE_EXACT(sum, 0.0);
    TOKENLOUPE_COMPARE_EXACT(product, 0.0);
    x[5] = 1.0F;
    x[36] = -1.0F;
    kernels.softmaxMoments(x.data(), 37, 1.0F, &sum, &product);
    QVERIFY(std::abs(sum - (1 + std::exp(-2.0))) < 1e-7);
    QVERIFY(std::abs(product + 2 * std::exp(-2.0)) < 1e-7);
    x[20] = notANumber; // a broken distribution must not look like a sound one
    kernels.softmaxMoments(x.data(), 37, 1.0F, &sum, &product);
    QVERIFY(std::isnan(sum));
}

void TestSoftmaxKernels::avx2EqualsAvx512()
{
    const CpuKernels *narrow = cpuKernelsFor(IsaLevel::Avx2);
    const CpuKernels *wide = cpuKernelsFor(IsaLevel::Avx512);
    if (!narrow || !wide)
        QSKIP("this processor does not have both instruction sets");
    // A third of a million bit patterns, subnormals, infinities and NaN among them.
    std::vector<float> inputs;
    for (std::uint64_t bits = 0; bits < (std::uint64_t(1) << 32); bits += 12347)
        inputs.push_back(bitsAsFloat(std::uint32_t(bits)));
    std::vector<float> a = inputs;
    std::vector<float> b = inputs;
    const auto n = std::int64_t(inputs.size());
    narrow->expSum(a.data(), 0.25F, n);
    wide->expSum(b.data(), 0.25F, n);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        QVERIFY(std::memcmp(&a[i], &b[i], sizeof(float)) == 0 || (std::isnan(a[i]) && std::isnan(b[i])));
    FencedMemory<float> logits(1013);
    fillRandom(logits, 9.0F, 4U);
    double sums[2][2];
    narrow->softmaxMoments(logits.data(), 1013, 9.0F, &sums[0][0], &sums[0][1]);
    wide->softmaxMoments(logits.data(), 1013, 9.0F, &sums[1][0], &sums[1][1]);
    QVERIFY(sums[0][0] == sums[1][0] && sums[0][1] == sums[1][1]);
    FencedMemory<float> copy(1013);
    std::copy(logits.begin(), logits.end(), copy.begin());
    QVERIFY(narrow->expSum(logits.data(), 9.0F, 1013) == wide->expSum(copy.data(), 9.0F, 1013));
}

TOKENLOUPE_TEST_MAIN(TestSoftmaxKernels)
#include "tst_softmaxkernels.moc"
